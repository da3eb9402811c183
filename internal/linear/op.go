package linear

import (
	"fmt"

	"github.com/selvagehq/selvage"
)

// Kind is what an operation does.
type Kind string

// The kinds.
const (
	Append Kind = "append"
	Load   Kind = "load"
	Delete Kind = "delete"

	end Kind = "end" // of the history
)

// Op is one operation of a history: what was asked, when, and what came of it.
// It is plain data, so that a process can hand its part of a history over.
type Op struct {
	Client int              `json:"client"`
	Thread selvage.ThreadID `json:"thread"`
	Kind   Kind             `json:"kind"`

	// Of an append: the id of its change set, which is that of its last
	// message too if it brings any; the precondition; a message that other sets may bring as
	// well; and whether it counts up the state.
	Set    string          `json:"set,omitempty"`
	Pre    string          `json:"pre,omitempty"` // any, exact, new or recreate
	At     selvage.Version `json:"at,omitempty"`  // of exact
	Shared int             `json:"shared,omitempty"`
	Counts bool            `json:"counts,omitempty"`
	Rewind selvage.Version `json:"rewind,omitempty"` // where it goes back to; it then brings nothing

	// Nanoseconds on a clock that all clients share.
	Call   int64 `json:"call"`
	Return int64 `json:"return"`

	// Outcome is "ok", "unknown", "undone" or the code of the error.
	Outcome string           `json:"outcome"`
	Error   string           `json:"error,omitempty"`
	Actual  selvage.Version  `json:"actual,omitempty"` // that a conflict told
	Receipt *selvage.Receipt `json:"receipt,omitempty"`
	Seen    *Seen            `json:"seen,omitempty"`
}

// Seen is what a load answered.
type Seen struct {
	Version  selvage.Version `json:"version"`
	Hash     selvage.Hash    `json:"hash"`
	NextSeq  int64           `json:"next_seq"`
	Count    int64           `json:"count"` // in the state
	Messages []string        `json:"messages"`
}

// The outcomes that are not codes of errors.
const (
	ok      = "ok"
	unknown = "unknown"
	undone  = "undone" // for certain, though the store could not say why not
)

// String tells the operation in one line.
func (o Op) String() string {
	s := fmt.Sprintf("[%d..%d] client %d: %s %s", o.Call, o.Return, o.Client, o.Kind, o.Thread)
	if o.Kind == Append {
		s += fmt.Sprintf(" set %s if %s", o.Set, o.Pre)
		if o.Pre == preExact {
			s += fmt.Sprintf("(%d)", o.At)
		}
		if o.Rewind > 0 {
			s += fmt.Sprintf(" back to %d", o.Rewind)
		}
	}
	s += " -> " + o.Outcome
	switch {
	case o.Receipt != nil:
		s += fmt.Sprintf(" version %d, messages %d..%d, replayed %v", o.Receipt.Version, o.Receipt.FirstSeq, o.Receipt.LastSeq(), o.Receipt.Replayed)
	case o.Seen != nil:
		s += fmt.Sprintf(" version %d, next seq %d, count %d, %d messages", o.Seen.Version, o.Seen.NextSeq, o.Seen.Count, len(o.Seen.Messages))
	case o.Error != "":
		s += " (" + o.Error + ")"
	}
	return s
}
