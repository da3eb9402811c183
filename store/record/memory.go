package record

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
)

// The spaces of memory: entries by owner, namespace and key, and owners, each
// with the count of its writes.
const (
	memorySpace = "memory"
	ownerSpace  = "memory.owner"
)

// memory is the [selvage.Memory] of a keeper. The writes of one owner go one
// after the other.
type memory struct{ k *Keeper }

// memoryRow is an entry as it is kept; its name is its key.
type memoryRow struct {
	Value   json.RawMessage `json:"value"`
	Version selvage.Version `json:"version"`
	Created time.Time       `json:"created"`
	Updated time.Time       `json:"updated"`
	Expires *time.Time      `json:"expires,omitempty"`
	Token   string          `json:"token"` // of the call that wrote it
}

// ownerRow counts the writes of an owner.
type ownerRow struct {
	Writes selvage.Version `json:"writes"`
}

func (r *memoryRow) entry(name selvage.MemoryName, value []byte) selvage.MemoryEntry {
	return selvage.MemoryEntry{
		MemoryDraft: selvage.MemoryDraft{MemoryName: name, Value: value, ExpiresAt: r.Expires},
		Version:     r.Version, CreatedAt: r.Created, UpdatedAt: r.Updated,
	}
}

// Put implements [selvage.Memory].
func (m memory) Put(ctx context.Context, d selvage.MemoryDraft, pre selvage.Precondition) (e selvage.MemoryEntry, err error) {
	if err = checkMemoryDraft(&d, pre); err == nil {
		token := rand.Text()
		err = m.k.update(ctx, memoryTopic(d.Owner), func(tx Tx, _ bool) (err error) {
			e, err = putMemory(tx, &d, pre, token)
			return err
		})
	}
	if err != nil {
		return selvage.MemoryEntry{}, fmt.Errorf("put memory: %w", err)
	}
	return e, nil
}

func putMemory(tx Tx, d *selvage.MemoryDraft, pre selvage.Precondition, token string) (e selvage.MemoryEntry, err error) {
	key, now := memoryKey(d.MemoryName), tx.Now()
	until, err := checkExpiry(d.ExpiresAt, now)
	if err != nil {
		return e, err
	}
	var row memoryRow
	value, exists, err := load(tx, memorySpace, key, &row)
	if err != nil {
		return e, err
	}
	if exists && row.Token == token {
		return row.entry(d.MemoryName, value), nil // this very call wrote it
	}
	if err := admit(pre, row.Version, memoryName(d.MemoryName)); err != nil {
		return e, err
	}
	owner, ownerKey, thread := ownerRow{}, keyOf(string(d.Owner)), memoryThread(d.Owner)
	if _, _, err := load(tx, ownerSpace, ownerKey, &owner); err != nil {
		return e, err
	}
	owner.Writes++
	if !exists {
		row.Created = now
	}
	row = memoryRow{Version: owner.Writes, Created: row.Created, Updated: now, Expires: until, Token: token}
	if err := save(tx, ownerSpace, Row{Key: ownerKey, Thread: thread}, &owner); err != nil {
		return e, err
	}
	if err := save(tx, memorySpace, Row{Key: key, Value: d.Value, Thread: thread, Expires: expires(until)}, &row); err != nil {
		return e, err
	}
	return row.entry(d.MemoryName, slices.Clone(d.Value)), nil
}

// admit judges a precondition against the version there is, 0 being none.
func admit(pre selvage.Precondition, have selvage.Version, what string) error {
	want, exact := pre.Version()
	switch {
	case pre.IsNew() && have != 0:
		return fmt.Errorf("%s is there already, at version %d: %w", what, have, selvage.ErrAlreadyExists)
	case exact && want != have:
		return &selvage.StaleError{What: what, Expected: want, Actual: have}
	}
	return nil
}

// Get implements [selvage.Memory].
func (m memory) Get(ctx context.Context, name selvage.MemoryName) (e selvage.MemoryEntry, err error) {
	if err = checkMemoryName(name); err == nil {
		err = m.k.engine.View(ctx, func(tx Tx) error {
			var row memoryRow
			value, exists, err := load(tx, memorySpace, memoryKey(name), &row)
			if err == nil && !exists {
				err = fmt.Errorf("%s: %w", memoryName(name), selvage.ErrNotFound)
			}
			e = row.entry(name, value)
			return err
		})
	}
	if err != nil {
		return selvage.MemoryEntry{}, fmt.Errorf("get memory: %w", err)
	}
	return e, nil
}

// Delete implements [selvage.Memory].
func (m memory) Delete(ctx context.Context, name selvage.MemoryName, pre selvage.Precondition) error {
	err := checkMemoryName(name)
	if err == nil && (pre.IsNew() || pre.IsRecreate()) {
		err = invalid("precondition", "what is deleted must be there; use any, or the version")
	}
	if err == nil {
		err = m.k.update(ctx, memoryTopic(name.Owner), func(tx Tx, _ bool) error {
			key := memoryKey(name)
			var row memoryRow
			if _, _, err := load(tx, memorySpace, key, &row); err != nil {
				return err
			}
			if err := admit(pre, row.Version, memoryName(name)); err != nil {
				return err
			}
			_, err := tx.Delete(memorySpace, One(key))
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("delete memory: %w", err)
	}
	return nil
}

// Clear implements [selvage.Memory].
func (m memory) Clear(ctx context.Context, owner selvage.MemoryOwner) (n int, err error) {
	if err = checkOwner(owner); err == nil {
		err = m.k.update(ctx, memoryTopic(owner), func(tx Tx, _ bool) error {
			removed, err := tx.Delete(memorySpace, below(keyOf(string(owner))))
			if err != nil {
				return err
			}
			n = max(n, removed) // what a commit removed that was not answered counts
			_, err = tx.Delete(ownerSpace, One(keyOf(string(owner))))
			return err
		})
	}
	if err != nil {
		return 0, fmt.Errorf("clear memory of %s: %w", owner, err)
	}
	return n, nil
}

// memoryTopic is what the writes of an owner share.
func memoryTopic(owner selvage.MemoryOwner) string { return memorySpace + "/" + string(owner) }

func memoryKey(n selvage.MemoryName) []byte { return keyOf(string(n.Owner), n.Namespace, n.Key) }

// memoryName names an entry for people.
func memoryName(n selvage.MemoryName) string {
	return fmt.Sprintf("memory %s %s/%s", n.Owner, n.Namespace, n.Key)
}

// memoryThread is the thread that an owner's entries are deleted with.
func memoryThread(owner selvage.MemoryOwner) selvage.ThreadID {
	if owner.Kind() != selvage.MemoryOfThread {
		return ""
	}
	return selvage.ThreadID(owner.Name())
}

func checkOwner(owner selvage.MemoryOwner) error {
	switch owner.Kind() {
	case selvage.MemoryOfUser, selvage.MemoryOfThread, selvage.MemoryOfAgent, selvage.MemoryOfSystem:
	default:
		return invalid("owner", "%q owns no memory; an owner is user:NAME, thread:ID, agent:NAME or system:NAME", owner)
	}
	return checkName("owner", owner.Name())
}

func checkMemoryName(n selvage.MemoryName) error {
	if err := checkOwner(n.Owner); err != nil {
		return err
	}
	if err := checkName("namespace", n.Namespace); err != nil {
		return err
	}
	return checkName("key", n.Key)
}

func checkMemoryDraft(d *selvage.MemoryDraft, pre selvage.Precondition) error {
	if pre.IsRecreate() {
		return invalid("precondition", "memory keeps no tombstones; use any, new or the version")
	}
	if err := checkMemoryName(d.MemoryName); err != nil {
		return err
	}
	return checkValue("value", d.Value, selvage.MaxMemoryBytes)
}

// mentions reports whether a text is part of the key, or of a string or a
// member name in the value, whatever its case.
func mentions(key string, value json.RawMessage, text string) bool {
	if strings.Contains(strings.ToLower(key), text) {
		return true
	}
	d := json.NewDecoder(strings.NewReader(string(value)))
	d.UseNumber() // which keeps numbers apart from strings
	for {
		token, err := d.Token()
		if err != nil {
			return false
		}
		if s, ok := token.(string); ok && strings.Contains(strings.ToLower(s), text) {
			return true
		}
	}
}
