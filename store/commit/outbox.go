package commit

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/selvagehq/selvage"
)

// Delivery is the row of an outbox entry that a change makes due.
type Delivery struct {
	Index       int // of the entry in the change set
	Lane        string
	Target      string
	AvailableAt time.Time // zero: at once
	MaxAttempts int
	// Key and Digest are of an entry with a dedupe key: what it is known by, and
	// what proves that a later entry of the same key says the same.
	Key    []byte
	Digest []byte
}

// judgeOutbox plans the deliveries the set asks for. One that was asked for
// before, by its dedupe key, is not planned again.
func (p *Plan) judgeOutbox(set *selvage.ChangeSet, rd Reader) error {
	planned := make(map[string]bool)
	for i := range set.Outbox {
		e := &set.Outbox[i]
		d := Delivery{Index: i, Lane: e.Lane, Target: e.Target, MaxAttempts: e.MaxAttempts}
		if d.MaxAttempts == 0 {
			d.MaxAttempts = selvage.DefaultOutboxAttempts
		}
		if !e.AvailableAt.IsZero() {
			d.AvailableAt = stamp(e.AvailableAt)
		}
		if e.DedupeKey != "" {
			d.Key, d.Digest = selvage.OutboxKey(e.Lane, e.Target, e.DedupeKey), payloadDigest(e.Payload)
			if planned[string(d.Key)] {
				continue
			}
			planned[string(d.Key)] = true
			known, err := rd.Delivery(d.Key)
			switch {
			case err != nil:
				return err
			case known != nil && !bytes.Equal(known, d.Digest):
				return fmt.Errorf("outbox[%d]: %q was asked for with another payload; give it another dedupe key: %w",
					i, e.DedupeKey, selvage.ErrAlreadyExists)
			case known != nil:
				continue
			}
		}
		p.Outbox = append(p.Outbox, d)
	}
	return nil
}

// payloadDigest tells one payload from another, however it is spaced.
func payloadDigest(payload []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, payload) != nil { // nothing given is null
		b.Reset()
		b.WriteString("null")
	}
	sum := sha256.Sum256(b.Bytes())
	return sum[:]
}

// checkOutbox checks the entries of a set.
func checkOutbox(entries []selvage.OutboxEntry) error {
	if n := len(entries); n > selvage.MaxOutboxEntries {
		return fmt.Errorf("a change set has at most %d outbox entries, this one has %d: %w", selvage.MaxOutboxEntries, n, selvage.ErrTooLarge)
	}
	said := make(map[string][]byte)
	for i := range entries {
		e, field := &entries[i], fmt.Sprintf("outbox[%d]", i)
		if err := checkNames(field, e); err != nil {
			return err
		}
		switch {
		case e.MaxAttempts < 0 || e.MaxAttempts > selvage.MaxOutboxAttempts:
			return invalid(field+".max_attempts", "a delivery is tried 1 to %d times, or 0 for %d, not %d",
				selvage.MaxOutboxAttempts, selvage.DefaultOutboxAttempts, e.MaxAttempts)
		case len(e.Payload) > selvage.MaxOutboxPayload:
			return fmt.Errorf("%s.payload: a payload has at most %d bytes, this one has %d; send a reference to it: %w",
				field, selvage.MaxOutboxPayload, len(e.Payload), selvage.ErrTooLarge)
		case !e.AvailableAt.IsZero() && (e.AvailableAt.Year() < 1970 || e.AvailableAt.Year() > 9999):
			return invalid(field+".available_at", "%v is out of the range of times", e.AvailableAt)
		}
		if err := checkRaw(field+".payload", e.Payload); err != nil {
			return err
		}
		if e.DedupeKey == "" {
			continue
		}
		key, digest := string(selvage.OutboxKey(e.Lane, e.Target, e.DedupeKey)), payloadDigest(e.Payload)
		if first, twice := said[key]; twice && !bytes.Equal(first, digest) {
			return invalid(field+".dedupe_key", "%q is already the key of another payload of this set", e.DedupeKey)
		}
		said[key] = digest
	}
	return nil
}

func checkNames(field string, e *selvage.OutboxEntry) error {
	for _, name := range []struct {
		field, value string
		needed       bool
	}{{".lane", e.Lane, true}, {".target", e.Target, true}, {".dedupe_key", e.DedupeKey, false}} {
		switch {
		case name.needed && name.value == "":
			return invalid(field+name.field, "a delivery needs one")
		case len(name.value) > selvage.MaxOutboxName:
			return invalid(field+name.field, "it has at most %d bytes, this one has %d", selvage.MaxOutboxName, len(name.value))
		}
		if err := checkLine(field+name.field, name.value); err != nil {
			return err
		}
	}
	return nil
}

// CheckClaim returns the claim with its limit clamped. The error matches
// [selvage.ErrInvalid].
func CheckClaim(c selvage.OutboxClaim) (selvage.OutboxClaim, error) {
	switch {
	case c.Lane == "":
		return c, invalid("lane", "a claim names a lane")
	case c.Limit < 1:
		return c, invalid("limit", "a claim is for 1 delivery or more, not %d", c.Limit)
	case c.Lease < selvage.TimePrecision || c.Lease > selvage.MaxOutboxLease:
		return c, invalid("lease", "a claim lasts from %v to %v, not %v", selvage.TimePrecision, selvage.MaxOutboxLease, c.Lease)
	case len(c.Owner) > selvage.MaxIDBytes:
		return c, invalid("owner", "an owner has at most %d bytes, this one has %d", selvage.MaxIDBytes, len(c.Owner))
	}
	c.Limit = min(c.Limit, selvage.MaxPage)
	for field, value := range map[string]string{"lane": c.Lane, "target": c.Target, "owner": c.Owner} {
		if err := checkLine(field, value); err != nil {
			return c, err
		}
	}
	return c, nil
}

// CheckFailure returns the failure with its cause in the form it is kept in.
// The error matches [selvage.ErrInvalid].
func CheckFailure(f selvage.DeliveryFailure) (selvage.DeliveryFailure, error) {
	if f.After < 0 || f.After > 366*24*time.Hour {
		return f, invalid("after", "a delivery is tried again after 0 to 366 days, not %v", f.After)
	}
	f.Cause = string(bytes.ToValidUTF8([]byte(f.Cause[:min(len(f.Cause), selvage.MaxOutboxError)]), nil))
	f.Cause = string(bytes.ReplaceAll([]byte(f.Cause), []byte{0}, nil))
	return f, nil
}

// CheckDeliveryQuery returns nil if the query can be asked. The error matches
// [selvage.ErrInvalid].
func CheckDeliveryQuery(q selvage.DeliveryQuery) error {
	switch q.Status {
	case "", selvage.DeliveryDue, selvage.DeliveryDelivered, selvage.DeliveryDead:
	default:
		return invalid("status", "%q is not the status of a delivery; use due, delivered or dead", q.Status)
	}
	for field, value := range map[string]string{"lane": q.Lane, "target": q.Target, "thread": string(q.ThreadID)} {
		if err := checkLine(field, value); err != nil {
			return err
		}
	}
	return nil
}

// FillDelivery completes a delivery from the change that carries it. It
// reports whether its payload is there.
func FillDelivery(d *selvage.Delivery, c *selvage.Change) (bool, error) {
	d.ThreadID, d.Version = c.ThreadID, c.Version
	entries, err := c.Outbox()
	if err != nil {
		return false, err
	}
	if d.Index >= len(entries) {
		return false, nil
	}
	e := &entries[d.Index]
	d.Lane, d.Target, d.DedupeKey, d.Payload = e.Lane, e.Target, e.DedupeKey, e.Payload
	if d.Payload == nil {
		d.Payload = rawJSON("null")
	}
	d.ID = selvage.OutboxID(c.ThreadID, c.Version, d.Index, e)
	return true, nil
}

// ErrLostClaim is the answer to who acknowledges what is not, or no longer,
// claimed by them.
var ErrLostClaim = fmt.Errorf("it was claimed anew, or given back: %w", selvage.ErrFenced)

// NotDead is the answer to who retries what is no dead letter.
func NotDead(s selvage.DeliveryStatus) error {
	return invalid("delivery", "it is %s; only what is dead is retried", s)
}

// Undeliverable says why a delivery that is due becomes a dead letter instead
// of being claimed; "" if it does not.
func Undeliverable(attempts, most int, whole bool, failure string) string {
	switch {
	case !whole:
		return "its payload is no longer there"
	case attempts < most:
		return ""
	case failure != "":
		return failure
	default:
		return fmt.Sprintf("it was claimed %d times and never acknowledged", attempts)
	}
}
