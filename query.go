package selvage

import "time"

// Order is the direction of a page.
type Order string

// The orders. Each query says which one its empty value means.
const (
	Ascending  Order = "asc"
	Descending Order = "desc"
)

// VisibilityFilter selects messages by visibility. The empty value is
// [ShowExternal].
type VisibilityFilter string

// The visibility filters.
const (
	ShowAll      VisibilityFilter = "all"
	ShowExternal VisibilityFilter = "external" // what the user may see
	ShowInternal VisibilityFilter = "internal" // what only the model sees
)

// Match reports whether the filter selects m.
func (f VisibilityFilter) Match(m *Message) bool {
	switch f {
	case ShowAll:
		return true
	case ShowInternal:
		return m.Internal()
	default:
		return !m.Internal()
	}
}

// LoadOptions selects what [Store.Load] returns besides the thread.
type LoadOptions struct {
	// Messages is how many of the last messages to return: nil means
	// [DefaultWindow], 0 none. There is no maximum.
	Messages *int
}

// MessageQuery selects a page of a thread's visible messages.
type MessageQuery struct {
	At         Version // as of this version; 0 is the head
	After      int64   // only seqs greater than this
	Before     int64   // only seqs less than this; 0 is no bound
	Order      Order   // by seq; empty is ascending
	Visibility VisibilityFilter
	RunID      RunID // only messages this run produced
	Limit      *int  // see [PageLimit]
	Cursor     Cursor
}

// ChangeQuery selects a page of a thread's log.
type ChangeQuery struct {
	After  Version // only versions greater than this
	Before Version // only versions less than this; 0 is no bound
	Order  Order   // by version; empty is ascending
	Limit  *int
	Cursor Cursor
}

// ParentFilter selects threads by their parent. The zero value selects any.
type ParentFilter struct {
	kind parentKind
	id   ThreadID
}

type parentKind uint8

const (
	anyParent parentKind = iota
	noParent
	thisParent
)

// AnyParent selects threads whatever their parent.
func AnyParent() ParentFilter { return ParentFilter{} }

// Roots selects threads without a parent.
func Roots() ParentFilter { return ParentFilter{kind: noParent} }

// ChildrenOf selects the direct children of id.
func ChildrenOf(id ThreadID) ParentFilter { return ParentFilter{kind: thisParent, id: id} }

// Parent returns the parent the filter asks for ("" for roots) and whether it
// filters at all.
func (f ParentFilter) Parent() (ThreadID, bool) { return f.id, f.kind != anyParent }

// Match reports whether the filter selects a thread with this parent.
func (f ParentFilter) Match(parent ThreadID) bool { return f.kind == anyParent || f.id == parent }

// ThreadOrder is what a page of threads is ordered by.
type ThreadOrder string

// The orders of threads, both newest first. ByCreated, the empty value, is
// stable: no thread is skipped or repeated however many are written between
// two pages. ByUpdated costs time proportional to the number of threads, and
// a thread that is written between two pages moves.
const (
	ByCreated ThreadOrder = "created"
	ByUpdated ThreadOrder = "updated"
)

// ThreadQuery selects a page of threads. Deleted threads are never selected.
type ThreadQuery struct {
	Parent   ParentFilter
	UserID   string            // exact
	Metadata map[string]string // each key must hold this JSON string
	Text     string            // part of the id or title, whatever its case
	Order    ThreadOrder
	Limit    *int
	Cursor   Cursor
}

// RunQuery selects a page of runs.
type RunQuery struct {
	ID          RunID // only this run
	ThreadID    ThreadID
	AgentID     string
	ParentRunID RunID
	Status      RunStatus
	Open        bool      // only runs that are not done
	Since       time.Time // only runs created at or after this
	Order       Order     // by creation; empty is descending
	Limit       *int
	Cursor      Cursor
}

// MessagePage is one page of messages. Cursor is empty on the last page.
type MessagePage struct {
	Items []Message `json:"items"`
	Next  Cursor    `json:"next_cursor,omitempty"`
}

// ChangePage is one page of changes.
type ChangePage struct {
	Items []Change `json:"items"`
	Next  Cursor   `json:"next_cursor,omitempty"`
}

// ThreadPage is one page of threads.
type ThreadPage struct {
	Items []Thread `json:"items"`
	Next  Cursor   `json:"next_cursor,omitempty"`
}

// RunPage is one page of runs.
type RunPage struct {
	Items []Run  `json:"items"`
	Next  Cursor `json:"next_cursor,omitempty"`
}
