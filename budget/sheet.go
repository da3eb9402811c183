package budget

import (
	"fmt"
	"maps"
	"slices"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// Status is where a reservation stands.
type Status string

// The statuses.
const (
	Active   Status = "active"   // the child may spend it
	Settled  Status = "settled"  // the child has ended; what it spent counts
	Released Status = "released" // the child never began
)

// Entry is what a budget knows of one child.
type Entry struct {
	ThreadID selvage.ThreadID `json:"thread_id"`
	Status   Status           `json:"status"`
	// Reserved is what the child may spend, its own children included.
	Reserved Bounds `json:"reserved"`
	// Spent is what it has spent when it ended, and never more than was
	// reserved.
	Spent Amount `json:"spent,omitzero"`
	// Over is what it spent beyond its reservation: the last answer of a
	// model may cost more than is left.
	Over *Amount `json:"over,omitempty"`
}

// Sheet is a budget at one version of its thread.
type Sheet struct {
	Max      Bounds // what the run may spend
	Own      Amount // what it has spent itself
	Children map[selvage.RunID]Entry
}

// Spent is what the children have spent that ended.
func (s Sheet) Spent() (sum Amount) {
	for _, e := range s.Children {
		sum = sum.Add(e.Spent)
	}
	return sum
}

// Reserved is what open children may still spend.
func (s Sheet) Reserved() (sum Amount) {
	for _, e := range s.Children {
		if e.Status == Active {
			sum = sum.Add(e.Reserved.amount())
		}
	}
	return sum
}

// Total is what the run and its ended children have spent.
func (s Sheet) Total() Amount { return s.Own.Add(s.Spent()) }

// Left is what is neither spent nor reserved; less than nothing if the run
// itself spent more than it may.
func (s Sheet) Left() Bounds {
	left := Bounds{}
	held := s.Total().Add(s.Reserved())
	if s.Max.Spend != nil {
		n := *s.Max.Spend - held.Spend
		left.Spend = &n
	}
	if s.Max.Tokens != nil {
		n := *s.Max.Tokens - held.Tokens
		left.Tokens = &n
	}
	return left
}

// Spawns is how many children have begun, or are about to.
func (s Sheet) Spawns() (n int) {
	for _, e := range s.Children {
		if e.Status != Released {
			n++
		}
	}
	return n
}

// Open lists the children whose reservations are active, in order.
func (s Sheet) Open() []selvage.RunID {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.Children)), func(id selvage.RunID) bool {
		return s.Children[id].Status != Active
	})
}

// book is where the state of a thread keeps the budget of a run.
func book(run selvage.RunID) state.Pointer { return state.At(state.BudgetsKey, string(run)) }

// record is a budget as the state of a thread holds it.
type record struct {
	// ThreadID is that of the run, which tells a fork's copy from a budget.
	ThreadID selvage.ThreadID `json:"thread_id"`
	// Parent is the budget that this one is a part of.
	Parent   *selvage.ChildRun       `json:"parent,omitempty"`
	Children map[selvage.RunID]Entry `json:"children"`
}

// Children returns what a state says of the children of a run: nil if it has
// none. The error matches [selvage.ErrCorrupt].
func Children(doc state.Document, run selvage.RunID) (map[selvage.RunID]Entry, error) {
	r, err := read(doc, run)
	return r.Children, err
}

func read(doc state.Document, run selvage.RunID) (r record, err error) {
	books, _ := doc.Root().Field(state.BudgetsKey)
	v, ok := books.Field(string(run))
	if !ok {
		return r, nil
	}
	if err := v.Decode(&r); err != nil {
		return record{}, fmt.Errorf("budget of run %q: %w (%w)", run, err, selvage.ErrCorrupt)
	}
	return r, nil
}

// Leftovers deletes from the state of a thread the budgets that nobody needs
// any more when a run of it begins: those without open children whose run is
// part of no other budget, and those that a fork copied.
func Leftovers(doc state.Document, thread selvage.ThreadID) state.Patch {
	all, ok := doc.Root().Field(state.BudgetsKey)
	if !ok {
		return nil
	}
	var books map[selvage.RunID]record
	if all.Decode(&books) != nil {
		return state.Patch{state.Delete(state.At(state.BudgetsKey))}
	}
	var patch state.Patch
	for _, run := range slices.Sorted(maps.Keys(books)) {
		b := books[run]
		s := Sheet{Children: b.Children}
		if b.ThreadID != thread || b.Parent == nil && len(s.Open()) == 0 {
			patch = append(patch, state.Delete(book(run)))
		}
	}
	if len(patch) == len(books) {
		return state.Patch{state.Delete(state.At(state.BudgetsKey))}
	}
	return patch
}
