package selvage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
)

// Outbox hands out what change sets asked to have delivered: see
// [ChangeSet.Outbox]. A delivery is due from its AvailableAt on, until it was
// acknowledged or has been tried as often as it may be, which makes it a dead
// letter. It is delivered at least once: who claims it does its work and then
// acknowledges, and may die between the two.
//
// Every store is one. The store of a tenant sees what is its own; the store it
// came from sees the deliveries of all tenants, each of which names its own.
// Deleting a thread takes its deliveries along.
type Outbox interface {
	// Claim takes deliveries that are due, for as long as the lease lasts, and
	// counts an attempt for each. They come in the order of AvailableAt, and of
	// their changes where that is equal. No two claims get the same one until its
	// lease has run out, of however many processes; so several workers may
	// overtake each other, also in the deliveries of one thread.
	//
	// A delivery whose lease ran out with its last attempt, and one whose payload
	// is no longer there, becomes a dead letter and is not returned. An error
	// matching [ErrUnavailable] or [ErrUnknownOutcome] may have claimed some: they
	// are due again when the lease has run out.
	Claim(ctx context.Context, c OutboxClaim) ([]Delivery, error)

	// Ack tells that a delivery was made, which ends it. A claim that somebody
	// else has taken over, or that was given back, matches [ErrFenced], a delivery
	// that is no longer there [ErrNotFound]. A lease that has run out and was not
	// taken over is still good, and to acknowledge again is no error.
	Ack(ctx context.Context, d Delivery) error

	// Nack tells that a delivery failed, and returns what became of it: due again
	// later, or dead. Errors are those of Ack.
	Nack(ctx context.Context, d Delivery, f DeliveryFailure) (DeliveryStatus, error)

	// Deliveries returns a page of deliveries, in an order of the store's own that
	// stays. Payloads are included.
	Deliveries(ctx context.Context, q DeliveryQuery) (DeliveryPage, error)

	// Retry makes a dead letter due at once, with all its attempts before it. One
	// that is not dead matches [ErrInvalid], one that is not there [ErrNotFound].
	Retry(ctx context.Context, d Delivery) error

	// Prune forgets deliveries that were made before a time and returns how many.
	// With them goes what their dedupe keys would recognise.
	Prune(ctx context.Context, before time.Time) (int, error)
}

// DeliveryStatus is where a delivery stands.
type DeliveryStatus string

// The statuses of deliveries.
const (
	DeliveryDue       DeliveryStatus = "due" // now, later, or claimed at present
	DeliveryDelivered DeliveryStatus = "delivered"
	DeliveryDead      DeliveryStatus = "dead"
)

// Delivery is one entry of the outbox and how it stands.
type Delivery struct {
	ID        string          `json:"id"` // what the receipt of its change set names
	Tenant    string          `json:"tenant,omitempty"`
	ThreadID  ThreadID        `json:"thread_id"`
	Version   Version         `json:"version"` // of the change that carries it
	Index     int             `json:"index"`   // in that change's outbox
	Lane      string          `json:"lane"`
	Target    string          `json:"target"`
	DedupeKey string          `json:"dedupe_key,omitempty"`
	Payload   json.RawMessage `json:"payload,omitempty"` // as it was given; nil if it is no longer there
	Status    DeliveryStatus  `json:"status"`
	// AvailableAt is when it can be claimed: of one that is claimed, when its
	// lease runs out.
	AvailableAt time.Time `json:"available_at"`
	Attempts    int       `json:"attempts"` // claims so far
	MaxAttempts int       `json:"max_attempts"`
	Owner       string    `json:"owner,omitempty"` // who claimed it last
	LastError   string    `json:"last_error,omitempty"`
	// Token proves to Ack and Nack who asks; only Claim shows it.
	Token string `json:"token,omitempty"`
}

// OutboxClaim says what is claimed.
type OutboxClaim struct {
	Lane   string
	Target string // empty: any
	Limit  int    // at least 1; more than [MaxPage] is clamped
	Owner  string // for people
	Lease  time.Duration
}

// DeliveryFailure says why a delivery failed, and when to try again.
type DeliveryFailure struct {
	Cause string        // for people; cut to [MaxOutboxError] bytes
	After time.Duration // from now until it is due again
	// Permanent makes it a dead letter at once: trying again would not help.
	Permanent bool
}

// DeliveryQuery selects deliveries. Empty fields select any.
type DeliveryQuery struct {
	Status   DeliveryStatus
	Lane     string
	Target   string
	ThreadID ThreadID
	Limit    *int
	Cursor   Cursor
}

// DeliveryPage is one page of deliveries. Cursor is empty on the last page.
type DeliveryPage struct {
	Items []Delivery `json:"items"`
	Next  Cursor     `json:"next_cursor,omitempty"`
}

// Bounds of outbox entries.
const (
	// MaxOutboxEntries bounds the outbox entries of one change set.
	MaxOutboxEntries = 100
	// MaxOutboxPayload bounds a payload, in bytes.
	MaxOutboxPayload = 256 << 10
	// DefaultOutboxAttempts is how often a delivery is tried if its entry does
	// not say, MaxOutboxAttempts how often at most.
	DefaultOutboxAttempts = 5
	MaxOutboxAttempts     = 1000
	// MaxOutboxName bounds a lane, a target and a dedupe key, in bytes.
	MaxOutboxName = 500
	// MaxOutboxError bounds what is kept of the cause of a failure, in bytes.
	MaxOutboxError = 2000
	// MaxOutboxLease bounds the lease of a claim.
	MaxOutboxLease = 24 * time.Hour
)

// OutboxID is the id of the i-th outbox entry of a change. Entries with a
// dedupe key are named by it: the same lane, target and key is the same
// delivery, whichever change asks for it.
func OutboxID(thread ThreadID, v Version, i int, e *OutboxEntry) string {
	if e.DedupeKey == "" {
		return string(thread) + "/" + Position{v, i}.String()
	}
	return OutboxKeyID(OutboxKey(e.Lane, e.Target, e.DedupeKey))
}

// OutboxKeyID is the id of the delivery that a dedupe key names.
func OutboxKeyID(key []byte) string { return outboxKeyPrefix + hex.EncodeToString(key) }

// No thread id holds a slash, and no position begins like a hex digest's.
const outboxKeyPrefix = "key/"

// OutboxKey is what a store knows a dedupe key by: 16 bytes.
func OutboxKey(lane, target, key string) []byte {
	h := sha256.New()
	h.Write([]byte{tagOutboxKey})
	for _, s := range [...]string{lane, target, key} {
		writeUint(h, uint64(len(s)))
		h.Write([]byte(s))
	}
	return h.Sum(nil)[:16]
}

// ParseOutboxID returns what names a delivery: its dedupe key as [OutboxKey]
// makes it, or else its thread and position. The error matches [ErrInvalid].
func ParseOutboxID(id string) (key []byte, thread ThreadID, at Position, err error) {
	refuse := &InvalidError{Field: "delivery", Reason: "this is no id of a delivery; take it from a receipt or a list"}
	before, after, found := strings.Cut(id, "/")
	if !found {
		return nil, "", at, refuse
	}
	if before+"/" == outboxKeyPrefix && !strings.Contains(after, ".") {
		if key, err = hex.DecodeString(after); err != nil || len(key) != 16 {
			return nil, "", at, refuse
		}
		return key, "", at, nil
	}
	if err := at.UnmarshalText([]byte(after)); err != nil {
		return nil, "", at, refuse
	}
	return nil, ThreadID(before), at, nil
}

// Outbox decodes what the change asks to have delivered. The error matches
// [ErrCorrupt].
func (c *Change) Outbox() ([]OutboxEntry, error) {
	if len(c.Rest) <= len("{}") {
		return nil, nil
	}
	var r struct {
		Outbox []OutboxEntry `json:"outbox"`
	}
	if err := json.Unmarshal(c.Rest, &r); err != nil {
		return nil, c.corrupt("its body cannot be read: %v", err)
	}
	return r.Outbox, nil
}
