package state

import "slices"

// Top-level keys that the run loop keeps its own affairs under. No spec may
// have a path there.
const (
	RunKey     = "__run"     // what others ask of the open run; goes when the next one is prepared
	BudgetsKey = "__budgets" // what child runs have reserved and spent, by the id of the run they count against
	ContextKey = "__context" // the summary that stands in for the beginning of the conversation
)

// reservedKeys are the top-level keys that are not the user's.
var reservedKeys = [...]string{CallsKey, SpecsKey, RunKey, BudgetsKey, ContextKey}

// Reserved reports whether the place is that of a reserved key, or below one.
func (p Pointer) Reserved() bool {
	if p == "" {
		return false
	}
	first, _ := cutToken(string(p))
	return slices.Contains(reservedKeys[:], first)
}

// Reserved reports whether the op may change what is under a reserved key. An op
// that replaces the whole document does, whatever it holds.
func (op Op) Reserved() bool {
	if op.Path != "" {
		return op.Path.Reserved()
	}
	if op.Kind != OpMerge && op.Kind != OpJoin {
		return true
	}
	return slices.ContainsFunc(reservedKeys[:], func(key string) bool { _, there := op.Value.Field(key); return there })
}

// CheckReserved returns an [*OpError] matching [ErrReserved] for the first op of
// a patch that may change what is under a reserved key, places below own
// excepted. It is for patches of users and their tools; [Patch.Apply] does not
// ask, as runs apply theirs with it. An empty own excepts nothing.
func (p Patch) CheckReserved(own Pointer) error {
	for i, op := range p {
		if op.Reserved() && (own == "" || !own.Contains(op.Path)) {
			return &OpError{Index: i, Kind: op.Kind, Path: op.Path, Err: ErrReserved, Reason: "what is there belongs to runs"}
		}
	}
	return nil
}

// Own returns the document without the reserved keys: what users and their
// tools put there.
func (d Document) Own() Document {
	for _, key := range reservedKeys {
		// A key of the root can always be deleted.
		d, _ = Patch{Delete(At(key))}.Apply(d)
	}
	return d
}
