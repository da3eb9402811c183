package linear

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/selvagehq/selvage"
)

// checkTimeout bounds the search for an order. A history that takes longer is
// not judged, which is an error.
const checkTimeout = 30 * time.Second

// Check returns nil if a store that does one thing at a time could have
// answered the history, and otherwise an error that tells where it could not.
func Check(history []Op) error {
	if err := checkHashes(history); err != nil {
		return err
	}
	for _, ops := range byThread(history) {
		if err := checkThread(ops); err != nil {
			return err
		}
	}
	return nil
}

// unansweredResends is how many of the sends of one set that were not answered
// are judged. Each counts as possible from its call to the end of time, so the
// earlier ones stand for the later ones; more than one, because a set can be
// applied once in each life of its thread.
const unansweredResends = 2

// byThread divides a history, and leaves out what says nothing.
func byThread(history []Op) map[selvage.ThreadID][]Op {
	type sending struct {
		thread selvage.ThreadID
		set    string
	}
	all := make(map[selvage.ThreadID][]Op)
	lost := make(map[sending]int)
	for i := range history {
		o := history[i]
		if o.Outcome == undone {
			continue
		}
		if o.Outcome == unknown {
			s := sending{o.Thread, o.Set}
			if o.Kind == Load || o.Kind == Append && lost[s] >= unansweredResends {
				continue
			}
			lost[s]++
		}
		all[o.Thread] = append(all[o.Thread], o)
	}
	return all
}

// Tally is how many operations were answered, how many were certainly not done,
// and of how many nobody learned what became of them.
type Tally struct{ Answered, Undone, Unknown int }

// Count counts a history.
func Count(history []Op) (t Tally) {
	for i := range history {
		switch history[i].Outcome {
		case unknown:
			t.Unknown++
		case undone:
			t.Undone++
		default:
			t.Answered++
		}
	}
	return t
}

// String tells the tally in one line.
func (t Tally) String() string {
	return fmt.Sprintf("%d operations answered, %d not done, %d unknown", t.Answered, t.Undone, t.Unknown)
}

// checkHashes checks that a version of a thread has one hash and stands for one
// set, whether receipts tell of it or loads.
func checkHashes(history []Op) error {
	type place struct {
		thread  selvage.ThreadID
		version selvage.Version
	}
	sets := make(map[place]string)
	hashes := make(map[place]selvage.Hash)
	for i := range history {
		o := &history[i]
		var at place
		var hash selvage.Hash
		switch {
		case o.Receipt != nil:
			at, hash = place{o.Thread, o.Receipt.Version}, o.Receipt.Hash
			if o.Receipt.ChangeID != o.Set {
				return fmt.Errorf("the receipt is of set %q: %s", o.Receipt.ChangeID, o)
			}
			if was, found := sets[at]; found && was != o.Set {
				return fmt.Errorf("version %d of %s is both set %s and set %s: %s", at.version, o.Thread, was, o.Set, o)
			}
			sets[at] = o.Set
		case o.Seen != nil:
			at, hash = place{o.Thread, o.Seen.Version}, o.Seen.Hash
		default:
			continue
		}
		if was, found := hashes[at]; found && was != hash {
			return fmt.Errorf("version %d of %s has hash %s and hash %s: %s", at.version, o.Thread, was, hash, o)
		}
		hashes[at] = hash
	}
	return nil
}

// checkThread checks what was done to one thread.
func checkThread(ops []Op) error {
	operations := make([]porcupine.Operation, 0, len(ops)+1)
	last := int64(0)
	for i := range ops {
		o := &ops[i]
		until := o.Return
		if o.Outcome == unknown {
			until = math.MaxInt64 // it may still happen
		} else {
			last = max(last, until)
		}
		operations = append(operations, porcupine.Operation{Input: o, Call: o.Call, Return: until})
	}
	operations = append(operations, porcupine.Operation{Input: &Op{Kind: end}, Call: last + 1, Return: math.MaxInt64})
	model := porcupine.Model{
		Init: func() any { return thread{} },
		Step: func(state, input, _ any) (bool, any) {
			fits, next := state.(thread).step(input.(*Op))
			return fits, next
		},
		Equal: func(a, b any) bool {
			x, y := a.(thread), b.(thread)
			return x.same(&y)
		},
	}
	result, info := porcupine.CheckOperationsVerbose(model, operations, checkTimeout)
	switch result {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return fmt.Errorf("%d operations on %s were not judged within %s", len(ops), ops[0].Thread, checkTimeout)
	default:
		return explain(ops, info.PartialLinearizations())
	}
}

// explain tells the longest order that was found, and what does not fit in.
func explain(ops []Op, partial [][][]int) error {
	var longest []int
	for _, partition := range partial {
		for _, order := range partition {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "what was done to %s has no order in which it could be answered so. At most %d of %d operations have one, which ends with:\n",
		ops[0].Thread, len(longest), len(ops))
	t := thread{}
	longest = slices.DeleteFunc(longest, func(i int) bool { return i == len(ops) }) // the end
	for n, i := range longest {
		_, t = t.step(&ops[i])
		if n >= len(longest)-8 {
			fmt.Fprintf(&b, "  %s\n", ops[i])
		}
	}
	fmt.Fprintf(&b, "the thread is then at version %d (deleted %v), next seq %d, count %d; what should come next:\n", t.version, t.deleted, t.nextSeq, t.count)
	var rest []Op
	for i := range ops {
		if !slices.Contains(longest, i) && ops[i].Outcome != unknown {
			rest = append(rest, ops[i])
		}
	}
	slices.SortFunc(rest, func(a, b Op) int { return int(a.Return - b.Return) })
	for _, o := range rest[:min(len(rest), 8)] {
		fmt.Fprintf(&b, "  %s\n", o)
	}
	return fmt.Errorf("%s", b.String())
}
