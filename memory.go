package selvage

import (
	"context"
	"encoding/json"
	"strings"
	"time"
)

// Memory keeps what outlives a thread: facts about a user, the profile of an
// agent, state that threads share. An entry is JSON under an owner, a
// namespace and a key. It is found with [As].
//
// Who reads or writes one owner never meets another's entries. Times are the
// store's; an entry whose time is over is as good as deleted, whether or not
// it was swept away (see [Sweeper]).
type Memory interface {
	// Put writes one entry and returns it as it now stands. pre says what must
	// be there: [Any] whatever there is, [New] no such entry, [Exact] the entry
	// at that version.
	//
	// An entry that is there matches [ErrAlreadyExists] under New; another
	// version, or none, under Exact is a [StaleError]; a bad name, value or
	// time [ErrInvalid]; a value above [MaxMemoryBytes] [ErrTooLarge]; the
	// owner of a thread that does not exist [ErrNotFound]. Nothing was written
	// then. [ErrUnknownOutcome] and [ErrUnavailable] leave the outcome unknown:
	// read the entry.
	Put(ctx context.Context, draft MemoryDraft, pre Precondition) (MemoryEntry, error)

	// Get returns one entry, or an error matching [ErrNotFound].
	Get(ctx context.Context, name MemoryName) (MemoryEntry, error)

	// Delete removes one entry. Under [Any] it is no error if there is none;
	// under [Exact] another version, or none, is a [StaleError]. Any other
	// precondition is invalid.
	Delete(ctx context.Context, name MemoryName, pre Precondition) error

	// List returns a page of one owner's entries, by namespace and key. With a
	// text a page may hold fewer than its limit, even none, and a cursor: the
	// cost of a page is bounded, not the number of entries that do not match.
	List(ctx context.Context, q MemoryQuery) (MemoryPage, error)

	// Clear forgets an owner: every entry and every trace of the name, in one
	// transaction. It returns how many entries it removed; none is no error.
	Clear(ctx context.Context, owner MemoryOwner) (int, error)

	// Owners returns a page of those of whom anything is kept, by name. One
	// whose last entry was deleted is among them until Clear.
	Owners(ctx context.Context, q MemoryOwnerQuery) (MemoryOwnerPage, error)
}

// Bounds of a [Memory].
const (
	// MaxMemoryBytes bounds the value of one entry, in bytes.
	MaxMemoryBytes = 256 << 10
)

// MemoryOwner is whom entries belong to: a kind and a name, "user:alice". The
// functions below make one; the zero MemoryOwner is nobody and invalid, so that
// nothing is ever shared by default.
type MemoryOwner string

// The kinds of owners.
const (
	MemoryOfUser   = "user"
	MemoryOfThread = "thread"
	MemoryOfAgent  = "agent"
	MemoryOfSystem = "system"
)

// UserMemory owns what is remembered about a user, in all threads of that user.
func UserMemory(user string) MemoryOwner { return MemoryOwner(MemoryOfUser + ":" + user) }

// ThreadMemory owns what a thread remembers that belongs to no user. It is
// deleted with the thread.
func ThreadMemory(id ThreadID) MemoryOwner { return MemoryOwner(MemoryOfThread + ":" + string(id)) }

// AgentMemory owns what a named agent keeps across its threads.
func AgentMemory(agent string) MemoryOwner { return MemoryOwner(MemoryOfAgent + ":" + agent) }

// SystemMemory owns what everybody of the tenant shares under a name.
func SystemMemory(name string) MemoryOwner { return MemoryOwner(MemoryOfSystem + ":" + name) }

// Kind returns which kind of owner it is.
func (o MemoryOwner) Kind() string {
	kind, _, _ := strings.Cut(string(o), ":")
	return kind
}

// Name returns the owner's name within its kind.
func (o MemoryOwner) Name() string {
	_, name, _ := strings.Cut(string(o), ":")
	return name
}

// MemoryName names one entry. Namespace and key are as [CheckID] wants them.
type MemoryName struct {
	Owner     MemoryOwner `json:"owner"`
	Namespace string      `json:"namespace"`
	Key       string      `json:"key"`
}

// MemoryDraft is an entry to write. Value is any JSON; its bytes are kept.
// ExpiresAt nil means never; a time that is over is invalid.
type MemoryDraft struct {
	MemoryName

	Value     json.RawMessage `json:"value"`
	ExpiresAt *time.Time      `json:"expires_at,omitempty"`
}

// MemoryEntry is an entry as it is kept. Version grows with every write and is
// not used again for the owner until it is cleared, so that a precondition
// never takes an entry for one of the same name that was deleted before.
type MemoryEntry struct {
	MemoryDraft

	Version   Version   `json:"version"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// MemoryQuery selects entries of one owner.
type MemoryQuery struct {
	Owner     MemoryOwner
	Namespace string // exact; empty means all
	Prefix    string // of the key; needs a namespace
	Text      string // part of the key, or of a string or member name in the value, whatever its case
	Limit     *int   // see [PageLimit]
	Cursor    Cursor
}

// MemoryPage is one page of entries. Next is empty on the last page.
type MemoryPage struct {
	Items []MemoryEntry `json:"items"`
	Next  Cursor        `json:"next_cursor,omitempty"`
}

// MemoryOwnerQuery selects owners.
type MemoryOwnerQuery struct {
	Kind   string // empty means all
	Limit  *int
	Cursor Cursor
}

// MemoryOwnerPage is one page of owners. Next is empty on the last page.
type MemoryOwnerPage struct {
	Items []MemoryOwner `json:"items"`
	Next  Cursor        `json:"next_cursor,omitempty"`
}
