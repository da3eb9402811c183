package selvage

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash"
	"sync"
	"time"
)

// ChainFormat is the version of the digests below. It is part of every chain
// hash, so that a change of format can never pass for a change of content.
const ChainFormat = 1

// SaltSize is the size of the secret that keeps digests of short content from
// being guessed, in bytes.
const SaltSize = 16

// Tags keep the digests of different things apart.
const (
	tagSalt byte = iota
	tagPart
	tagContent
	tagChain
	tagMessageID
	tagState
	tagRest
	tagOutboxKey
)

// Body is the encoded content of a change set: one JSON object a message, as
// received, and one for the rest. What a store writes, and what [Change]
// returns, are these bytes.
type Body struct {
	Salt     [SaltSize]byte
	Messages []json.RawMessage
	Rest     json.RawMessage
}

// rest is the part of a change set that is neither header nor messages, in
// the order of its encoding. What it does to the state comes last, so that it
// can be cut off and the facts before it stay as they were; see [splitRest].
type rest struct {
	Runs       []RunUpdate     `json:"runs,omitempty"`
	Calls      []CallUpdate    `json:"calls,omitempty"`
	Rewind     *Version        `json:"rewind,omitempty"`
	Fork       *ForkDraft      `json:"fork,omitempty"`
	Events     []EventDraft    `json:"events,omitempty"`
	Outbox     []OutboxEntry   `json:"outbox,omitempty"`
	Dispatches []DispatchDraft `json:"dispatches,omitempty"`
	Thread     *ThreadUpdate   `json:"thread,omitempty"`
	Patches    []StatePatch    `json:"patches,omitempty"`
	Snapshot   json.RawMessage `json:"snapshot,omitempty"`
}

// EncodeBody encodes the content of set under a fresh salt. The fence, and
// the seq and time of messages, are not content. The error matches
// [ErrInvalid] if something in the set has no JSON.
func EncodeBody(set *ChangeSet) (*Body, error) {
	body := &Body{Messages: make([]json.RawMessage, len(set.Messages))}
	_, _ = rand.Read(body.Salt[:]) // never fails
	for i, m := range set.Messages {
		m.Seq = 0
		if set.Reason != ReasonForked { // the messages of a fork are as old as they are
			m.CreatedAt = time.Time{}
		}
		data, err := encodeJSON(&m)
		if err != nil {
			return nil, &InvalidError{Field: fmt.Sprintf("messages[%d]", i), Reason: err.Error()}
		}
		body.Messages[i] = data
	}
	r := rest{Runs: set.Runs, Patches: set.Patches, Calls: set.Calls, Rewind: set.Rewind, Fork: set.Fork, Events: set.Events,
		Outbox: set.Outbox, Dispatches: set.Dispatches, Thread: set.Thread}
	if set.Snapshot != nil {
		r.Snapshot = set.Snapshot.AppendJSON(nil)
	}
	data, err := encodeJSON(&r)
	if err != nil {
		return nil, &InvalidError{Field: "change set", Reason: err.Error()}
	}
	body.Rest = data
	return body, nil
}

// Size returns the encoded size of the body, in bytes.
func (b *Body) Size() int {
	n := len(b.Rest)
	for _, m := range b.Messages {
		n += len(m)
	}
	return n
}

// Content returns the digest of a change set's content: its names and the
// salted digests of its parts. Preconditions, fences, assigned ids, seqs and
// times are not in it.
func (b *Body) Content(id string, run, parentRun RunID, reason Reason) Hash {
	n := len(b.Messages)
	return contentDigest([...]string{id, string(run), string(parentRun), string(reason)}, n, func(i int) Hash {
		if i < n {
			return partDigest(partSalt(b.Salt, i), b.Messages[i])
		}
		facts, state := splitRest(b.Rest)
		if state == nil {
			return partDigest(partSalt(b.Salt, n), facts)
		}
		return restDigest(partSalt(b.Salt, n), facts, stateDigest(partSalt(b.Salt, n+1), state))
	})
}

// contentDigest is the digest over names, n messages and the rest, whose own
// digests part tells.
func contentDigest(names [4]string, n int, part func(i int) Hash) Hash {
	h := sha256.New()
	h.Write([]byte{tagContent})
	for _, s := range names {
		writeUint(h, uint64(len(s)))
		h.Write([]byte(s))
	}
	writeUint(h, uint64(n))
	for i := range n + 1 {
		p := part(i)
		h.Write(p[:])
	}
	return sum(h)
}

// partSalt is the salt of the i-th part, which is of its own, so that one part
// can be erased together with its salt and the others kept. After the messages
// comes the rest, and then what the rest says about the state.
func partSalt(master [SaltSize]byte, i int) []byte {
	var seed [1 + SaltSize + 8]byte
	seed[0] = tagSalt
	copy(seed[1:], master[:])
	binary.BigEndian.PutUint64(seed[1+SaltSize:], uint64(i))
	salt := sha256.Sum256(seed[:])
	return salt[:SaltSize]
}

// partDigest is the digest of a message, or of a rest that leaves the state alone.
func partDigest(salt, data []byte) Hash { return salted(tagPart, salt, data) }

// stateDigest is the digest of what a rest says about the state.
func stateDigest(salt, data []byte) Hash { return salted(tagState, salt, data) }

// restDigest is the digest of a rest that changes the state: of its facts and
// of that digest, so that the facts are proved also without the rest of it.
func restDigest(salt, facts []byte, state Hash) Hash { return salted(tagRest, salt, facts, state[:]) }

func salted(tag byte, salt []byte, data ...[]byte) Hash {
	h := sha256.New()
	h.Write([]byte{tag})
	h.Write(salt)
	for _, d := range data {
		h.Write(d)
	}
	return sum(h)
}

// ChainHash returns the hash of a change: SHA-256 over the format, the hash
// of the change before it, its version, first seq, time in Unix milliseconds
// and content digest, integers as eight big-endian bytes.
func ChainHash(prev Hash, v Version, firstSeq int64, at time.Time, content Hash) Hash {
	var b [2 + 32 + 3*8 + 32]byte
	b[0], b[1] = tagChain, ChainFormat
	copy(b[2:], prev[:])
	binary.BigEndian.PutUint64(b[34:], uint64(v))
	binary.BigEndian.PutUint64(b[42:], uint64(firstSeq))
	binary.BigEndian.PutUint64(b[50:], uint64(at.UnixMilli()))
	copy(b[58:], content[:])
	return sha256.Sum256(b[:])
}

// MessageID returns the id of the i-th message of a change set that gave it
// none: a UUIDv7 of the append's time whose random bits derive from the
// change set's id, so that it need not be stored and a retry finds it again.
func MessageID(changeID string, i int, at time.Time) string {
	h := sha256.New()
	h.Write([]byte{tagMessageID})
	writeUint(h, uint64(i))
	h.Write([]byte(changeID))
	var b [16]byte
	digest := sum(h)
	copy(b[:], digest[:])
	return formatUUIDv7(b, at)
}

func writeUint(h hash.Hash, n uint64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], n)
	h.Write(b[:])
}

func sum(h hash.Hash) (out Hash) {
	h.Sum(out[:0])
	return out
}

var encoders = sync.Pool{New: func() any {
	e := &jsonEncoder{}
	e.Encoder = json.NewEncoder(&e.buf)
	e.SetEscapeHTML(false)
	return e
}}

type jsonEncoder struct {
	*json.Encoder
	buf bytes.Buffer
}

// encodeJSON is json.Marshal without HTML escaping: what is stored is what
// was said.
func encodeJSON(v any) ([]byte, error) {
	e := encoders.Get().(*jsonEncoder)
	defer encoders.Put(e)
	e.buf.Reset()
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.Clone(bytes.TrimSuffix(e.buf.Bytes(), []byte("\n"))), nil
}
