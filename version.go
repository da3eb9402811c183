package selvage

import (
	"encoding/hex"
	"fmt"
	"strconv"
)

// Version counts the changes of one thread. Version 0 means "does not exist
// yet"; each append adds exactly one, even an append that carries nothing.
type Version int64

// String returns the version in decimal.
func (v Version) String() string { return strconv.FormatInt(int64(v), 10) }

// Hash is a SHA-256 digest. In text and JSON it is 64 lower-case hex digits;
// the zero Hash, which precedes version 1 of every thread, is all zeros.
type Hash [32]byte

// String returns the hash in hex.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// IsZero reports whether h is the hash before version 1.
func (h Hash) IsZero() bool { return h == Hash{} }

// MarshalText implements [encoding.TextMarshaler].
func (h Hash) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (h *Hash) UnmarshalText(text []byte) error {
	if len(text) != 2*len(h) {
		return fmt.Errorf("a hash has %d hex digits, not %d", 2*len(h), len(text))
	}
	_, err := hex.Decode(h[:], text)
	return err
}

// preconditionKind tells the four preconditions apart.
type preconditionKind uint8

const (
	anyVersion preconditionKind = iota
	exactVersion
	newThread
	recreateThread
)

// Precondition says at which version of a thread an append may happen. The
// zero value is [Any].
type Precondition struct {
	kind    preconditionKind
	version Version
}

// Any appends at whatever version the thread has; the thread must exist. A
// store retries inside, a bounded number of times, when another writer wins.
func Any() Precondition { return Precondition{} }

// Exact appends only if the thread is at v, and fails with a [ConflictError]
// otherwise. Exact(0) is [New].
func Exact(v Version) Precondition {
	if v == 0 {
		return New()
	}
	return Precondition{kind: exactVersion, version: v}
}

// New creates the thread, and fails with [ErrAlreadyExists] if it exists or
// existed and was deleted.
func New() Precondition { return Precondition{kind: newThread} }

// Recreate brings a deleted thread back to life: its version and hash go on
// from the tombstone, so that no version is ever used twice.
func Recreate() Precondition { return Precondition{kind: recreateThread} }

// IsAny reports whether p is [Any].
func (p Precondition) IsAny() bool { return p.kind == anyVersion }

// IsNew reports whether p is [New].
func (p Precondition) IsNew() bool { return p.kind == newThread }

// IsRecreate reports whether p is [Recreate].
func (p Precondition) IsRecreate() bool { return p.kind == recreateThread }

// Version returns the version an [Exact] precondition asks for, and whether p
// is one. [New] answers 0, true.
func (p Precondition) Version() (Version, bool) {
	return p.version, p.kind == exactVersion || p.kind == newThread
}

// String describes p for messages: "any", "exact(7)", "new" or "recreate".
func (p Precondition) String() string {
	switch p.kind {
	case exactVersion:
		return "exact(" + p.version.String() + ")"
	case newThread:
		return "new"
	case recreateThread:
		return "recreate"
	default:
		return "any"
	}
}
