package record

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// The spaces of the registry: resources by kind and id, their versions by kind,
// id and number, and the versions that publications name.
const (
	configSpace  = "config"
	versionSpace = "config.version"
	pinSpace     = "config.pin"
)

// configTopic is what all writes of a tenant's registry share, so that a
// publication finds it at one moment.
const configTopic = configSpace

// config is the [selvage.Config] of a keeper.
type config struct{ k *Keeper }

// resourceRow is what is known of a resource.
type resourceRow struct {
	Current  selvage.Version `json:"current"`
	Hash     selvage.Hash    `json:"hash"`
	Archived bool            `json:"archived,omitempty"`
	Created  time.Time       `json:"created"`
	Updated  time.Time       `json:"updated"`
	Token    string          `json:"token"` // of the call that published the current version
}

func (r *resourceRow) resource(n selvage.ConfigName) selvage.ConfigResource {
	return selvage.ConfigResource{ConfigName: n, Current: r.Current, Hash: r.Hash, Archived: r.Archived, CreatedAt: r.Created, UpdatedAt: r.Updated}
}

// versionRow is a version as it is kept; its value is the body.
type versionRow struct {
	Schema   int             `json:"schema,omitempty"`
	Note     string          `json:"note,omitempty"`
	Hash     selvage.Hash    `json:"hash"`
	Restored selvage.Version `json:"restored_from,omitempty"`
	Created  time.Time       `json:"created"`
}

func configKey(n selvage.ConfigName) []byte { return keyOf(n.Kind, n.ID) }

func configName(n selvage.ConfigName) string { return n.Kind + " " + n.ID }

// decodeVersion reads a version and proves that its value is what was published.
func decodeVersion(n selvage.ConfigName, v selvage.Version, value []byte) (out selvage.ConfigVersion, err error) {
	var row versionRow
	body, err := decode(versionSpace, value, &row)
	if err != nil {
		return out, err
	}
	hash, err := configHash(row.Schema, body)
	if err != nil || hash != row.Hash {
		return out, fmt.Errorf("version %d of %s is not what was published: %w", v, configName(n), selvage.ErrCorrupt)
	}
	return selvage.ConfigVersion{
		ConfigDraft: selvage.ConfigDraft{ConfigName: n, Schema: row.Schema, Value: body, Note: row.Note},
		Version:     v, Hash: hash, RestoredFrom: row.Restored, CreatedAt: row.Created,
	}, nil
}

// configHash is the hash of a value: of its schema and its canonical form.
func configHash(schema int, value json.RawMessage) (selvage.Hash, error) {
	v, err := state.ParseValue(value)
	if err != nil {
		return selvage.Hash{}, err
	}
	data := binary.BigEndian.AppendUint64([]byte("selvage config 1\x00"), uint64(schema))
	return sha256.Sum256(v.AppendCanonical(data)), nil
}

// loadResource reads a resource; one that is not there has no current version.
func loadResource(tx Tx, n selvage.ConfigName) (row resourceRow, err error) {
	_, _, err = load(tx, configSpace, configKey(n), &row)
	return row, err
}

// mustResource is loadResource for one that must be there.
func mustResource(tx Tx, n selvage.ConfigName) (resourceRow, error) {
	row, err := loadResource(tx, n)
	if err == nil && row.Current == 0 {
		err = fmt.Errorf("%s: %w", configName(n), selvage.ErrNotFound)
	}
	return row, err
}

// loadVersion reads a version of a resource; 0 is the current one.
func loadVersion(tx Tx, n selvage.ConfigName, v selvage.Version) (out selvage.ConfigVersion, err error) {
	row, err := mustResource(tx, n)
	if err != nil {
		return out, err
	}
	if v == 0 {
		v = row.Current
	}
	value, err := tx.Get(versionSpace, number(configKey(n), int64(v)))
	switch {
	case err != nil:
		return out, err
	case value == nil && v == row.Current:
		return out, fmt.Errorf("the current version %d of %s is missing: %w", v, configName(n), selvage.ErrCorrupt)
	case value == nil && v > row.Current:
		return out, fmt.Errorf("%s has versions up to %d, and none %d: %w", configName(n), row.Current, v, selvage.ErrNotFound)
	case value == nil:
		return out, fmt.Errorf("version %d of %s was pruned: %w", v, configName(n), selvage.ErrGone)
	}
	return decodeVersion(n, v, value)
}

// publishing is one version to publish.
type publishing struct {
	selvage.ConfigDraft
	hash     selvage.Hash
	restored selvage.Version
	pre      selvage.Precondition
	token    string
}

// publish makes it the current version, unless it is.
func (p *publishing) publish(tx Tx) (out selvage.ConfigVersion, err error) {
	row, err := loadResource(tx, p.ConfigName)
	if err != nil {
		return out, err
	}
	if row.Current != 0 && row.Token == p.token {
		return loadVersion(tx, p.ConfigName, row.Current) // this very call published it
	}
	if err := admit(p.pre, row.Current, configName(p.ConfigName)); err != nil {
		return out, err
	}
	switch {
	case row.Archived:
		return out, invalid("id", "%s is archived; unarchive it first", configName(p.ConfigName))
	case row.Current != 0 && row.Hash == p.hash:
		out, err = loadVersion(tx, p.ConfigName, row.Current)
		out.Unchanged = true
		return out, err
	}
	now := tx.Now()
	if row.Current == 0 {
		row.Created = now
	}
	row = resourceRow{Current: row.Current + 1, Hash: p.hash, Created: row.Created, Updated: now, Token: p.token}
	version := versionRow{Schema: p.Schema, Note: p.Note, Hash: p.hash, Restored: p.restored, Created: now}
	key := configKey(p.ConfigName)
	if err := save(tx, versionSpace, Row{Key: number(key, int64(row.Current)), Value: p.Value}, &version); err != nil {
		return out, err
	}
	out = selvage.ConfigVersion{ConfigDraft: p.ConfigDraft, Version: row.Current, Hash: p.hash, RestoredFrom: p.restored, CreatedAt: now}
	out.Value = slices.Clone(p.Value)
	return out, save(tx, configSpace, Row{Key: key}, &row)
}

// restore publishes an older version's value again.
func restore(tx Tx, n selvage.ConfigName, to selvage.Version, pre selvage.Precondition, token string) (out selvage.ConfigVersion, err error) {
	older, err := loadVersion(tx, n, to)
	if err != nil {
		return out, err
	}
	p := publishing{older.ConfigDraft, older.Hash, older.Version, pre, token}
	return p.publish(tx)
}

// Publish implements [selvage.Config].
func (c config) Publish(ctx context.Context, d selvage.ConfigDraft, pre selvage.Precondition) (out selvage.ConfigVersion, err error) {
	hash, err := checkDraft(&d, pre)
	if err == nil {
		p := publishing{d, hash, 0, pre, rand.Text()}
		err = c.k.update(ctx, configTopic, func(tx Tx, _ bool) (err error) {
			out, err = p.publish(tx)
			return err
		})
	}
	if err != nil {
		return selvage.ConfigVersion{}, fmt.Errorf("publish %s: %w", configName(d.ConfigName), err)
	}
	return out, nil
}

// Rollback implements [selvage.Config].
func (c config) Rollback(ctx context.Context, n selvage.ConfigName, to selvage.Version, pre selvage.Precondition) (out selvage.ConfigVersion, err error) {
	if err = checkConfigName(n); err == nil {
		err = checkConfigPre(pre)
	}
	if err == nil && to < 1 {
		err = invalid("to", "versions count from 1, and %d is none", to)
	}
	if err == nil {
		token := rand.Text()
		err = c.k.update(ctx, configTopic, func(tx Tx, _ bool) (err error) {
			out, err = restore(tx, n, to, pre, token)
			return err
		})
	}
	if err != nil {
		return selvage.ConfigVersion{}, fmt.Errorf("roll %s back: %w", configName(n), err)
	}
	return out, nil
}

// Archive implements [selvage.Config].
func (c config) Archive(ctx context.Context, n selvage.ConfigName) error {
	if err := c.setArchived(ctx, n, true); err != nil {
		return fmt.Errorf("archive %s: %w", configName(n), err)
	}
	return nil
}

// Unarchive implements [selvage.Config].
func (c config) Unarchive(ctx context.Context, n selvage.ConfigName) error {
	if err := c.setArchived(ctx, n, false); err != nil {
		return fmt.Errorf("unarchive %s: %w", configName(n), err)
	}
	return nil
}

func (c config) setArchived(ctx context.Context, n selvage.ConfigName, archived bool) error {
	if err := checkConfigName(n); err != nil {
		return err
	}
	return c.k.update(ctx, configTopic, func(tx Tx, _ bool) error {
		row, err := mustResource(tx, n)
		if err != nil || row.Archived == archived {
			return err
		}
		row.Archived, row.Updated = archived, tx.Now()
		return save(tx, configSpace, Row{Key: configKey(n)}, &row)
	})
}

func checkConfigName(n selvage.ConfigName) error {
	if err := checkName("kind", n.Kind); err != nil {
		return err
	}
	return checkName("id", n.ID)
}

func checkConfigPre(pre selvage.Precondition) error {
	if pre.IsRecreate() {
		return invalid("precondition", "resources are archived, not deleted; use any, new or the version")
	}
	return nil
}

// checkDraft checks what can be checked without the registry, and returns the
// hash of the value.
func checkDraft(d *selvage.ConfigDraft, pre selvage.Precondition) (hash selvage.Hash, err error) {
	if err = checkConfigName(d.ConfigName); err == nil {
		err = checkConfigPre(pre)
	}
	if err == nil {
		err = checkText("note", d.Note)
	}
	switch {
	case err != nil:
		return hash, err
	case d.Schema < 0:
		return hash, invalid("schema", "the version of a schema may not be negative")
	case len(d.Note) > selvage.MaxConfigNote:
		return hash, tooLarge("note", len(d.Note), selvage.MaxConfigNote)
	case len(d.Value) > selvage.MaxConfigBytes:
		return hash, tooLarge("value", len(d.Value), selvage.MaxConfigBytes)
	}
	if hash, err = configHash(d.Schema, d.Value); err != nil {
		return hash, invalid("value", "%v", err)
	}
	return hash, nil
}
