package storetest

import (
	"context"
	"errors"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/selvagehq/selvage"
)

// lenient drops the part of a set that was found at fault, and appends the rest.
func lenient(field string, drop func(*selvage.ChangeSet)) func(*faulty) {
	return onAppend(func(next appendFunc) appendFunc {
		return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
			r, err := next(ctx, id, set, pre)
			var invalid *selvage.InvalidError
			if errors.As(err, &invalid) && strings.HasPrefix(invalid.Field, field) {
				drop(&set)
				return next(ctx, id, set, pre)
			}
			return r, err
		}
	})
}

func ruleFaults() []fault {
	return []fault{
		{"lets runs do as they like", lenient("runs", func(s *selvage.ChangeSet) { s.Runs = nil }),
			[]string{"Runs/StatusMachine", "Runs/DoneIsFinal", "Runs/OneOpenRun", "Runs/UniquePerStore", "Runs/CloseAndOpenInOneSet", "Runs/SeveralUpdatesOfOneRun",
				"Concurrency/OneOpenRunUnderConcurrency", "Concurrency/UniqueRunUnderConcurrency", "Order/RunsBeforePatches"}},
		{"lets calls reopen", lenient("calls", func(s *selvage.ChangeSet) { s.Calls = nil }), []string{"Calls/TerminalCallsNeverReopen", "Shape/BadSetsAreRefused"}},
		{"lets threads be their own ancestors", lenient("thread.parent_id", func(s *selvage.ChangeSet) { s.Thread = nil }),
			[]string{"Hierarchy/NoCycles", "Hierarchy/ParentMustExist"}},
		{"skips patches that do not apply", lenient("patches", func(s *selvage.ChangeSet) { s.Patches = nil }), []string{"State/WhatDoesNotApplyIsRefused", "State/NumbersStayExact"}},
		{"takes a snapshot with its patches", lenient("snapshot", func(s *selvage.ChangeSet) { s.Patches = nil }), []string{"State/SnapshotIsCountedOnce", "Shape/BadSetsAreRefused"}},
		{"takes any message", lenient("messages", func(s *selvage.ChangeSet) { s.Messages = nil }), []string{"Shape/BadMessagesAreRefused", "Order/ShapeBeforeRuns"}},
		{"takes any title", lenient("thread.title", func(s *selvage.ChangeSet) { s.Thread.Title = nil }), []string{"Shape/BadSetsAreRefused"}},
		{"takes any amount of metadata", lenient("thread.metadata", func(s *selvage.ChangeSet) { s.Thread = nil }), []string{"Shape/BoundsAreInclusive", "Shape/BadSetsAreRefused"}},
		{"takes any reason", lenient("reason", func(s *selvage.ChangeSet) { s.Reason = "" }), []string{"Append/EveryReasonIsKept"}},
		{"says state_edited whatever the reason", onAppend(alwaysEdited), []string{"Append/ReasonHasADefault", "Append/EveryReasonIsKept"}},
		{"cuts large sets in two", onAppend(cutInTwo), []string{"Limits/MessagesOfASet"}},
		{"takes half of too many bytes", insteadOf(selvage.ErrTooLarge, func(s *selvage.ChangeSet, _ *selvage.Precondition) bool { s.Messages = nil; return true }), []string{"Limits/BytesOfASet"}},
		{"does not say what is too large", onAppend(plainTooLarge), []string{"Limits/MessagesOfASet", "Limits/BytesOfASet"}},
		{"normalises ids", onAppend(normaliseIDs), []string{"IDs/BadIDsAreRefused"}},
		{"folds the case of ids", foldIDs, []string{"IDs/IDsThatLookAlikeDiffer", "IDs/OddIDsAreKept"}},
		{"forgets the set's run", onAppend(forgetRun), []string{"Append/MessagesInheritTheRun", "Messages/RunFilter", "Calls/EverythingOfACallIsKept"}},
		{"adds up totals", onAppend(addUp), []string{"Runs/UpdatesAreTotals"}},
		{"takes the caller's seq", func(f *faulty) { callersSeq(f) }, []string{"Append/SeqAndTimeAreTheStores"}},
		{"gives ids of its own", ownIDs, []string{"Append/IDsAreGivenWhereNoneAre", "Messages/EverythingIsKept"}},
		{"writes into what it is given", onAppend(writeIntoInput), []string{"Aliasing/WhatGoesInIsLeftAlone"}},
		{"gives a set the ids of the store", oneIDSpace, []string{"Idempotency/IDIsUniquePerThread", "Append/ThreadsAreIndependent"}},
	}
}

func writeIntoInput(next appendFunc) appendFunc {
	return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		for i := range set.Messages {
			set.Messages[i].Seq = int64(i + 1)
		}
		return next(ctx, id, set, pre)
	}
}

func alwaysEdited(next appendFunc) appendFunc {
	return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		set.Reason = selvage.ReasonStateEdited
		return next(ctx, id, set, pre)
	}
}

func cutInTwo(next appendFunc) appendFunc {
	return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		if len(set.Messages) > selvage.MaxSetMessages {
			set.Messages = set.Messages[:selvage.MaxSetMessages]
		}
		return next(ctx, id, set, pre)
	}
}

func plainTooLarge(next appendFunc) appendFunc {
	return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		r, err := next(ctx, id, set, pre)
		if errors.Is(err, selvage.ErrTooLarge) {
			err = selvage.ErrTooLarge
		}
		return r, err
	}
}

func normaliseIDs(next appendFunc) appendFunc {
	return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		set.ID = norm.NFC.String(set.ID)
		return next(ctx, selvage.ThreadID(norm.NFC.String(string(id))), set, pre)
	}
}

func foldIDs(f *faulty) {
	fold := func(id selvage.ThreadID) selvage.ThreadID {
		return selvage.ThreadID(strings.ToLower(string(id)))
	}
	f.append = func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		return f.sound.Append(ctx, fold(id), set, pre)
	}
	f.load = func(ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error) {
		return f.sound.Load(ctx, fold(id), opts)
	}
	f.changes = func(ctx context.Context, id selvage.ThreadID, q selvage.ChangeQuery) (selvage.ChangePage, error) {
		return f.sound.Changes(ctx, fold(id), q)
	}
}

func forgetRun(next appendFunc) appendFunc {
	return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		set.RunID = ""
		return next(ctx, id, set, pre)
	}
}

func addUp(next appendFunc) appendFunc {
	steps := make(map[selvage.RunID]int)
	return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		set.Runs = slices.Clone(set.Runs)
		for i := range set.Runs {
			if u := &set.Runs[i]; u.Steps != nil {
				steps[u.ID] += *u.Steps
				u.Steps = ptr(steps[u.ID])
			}
		}
		return next(ctx, id, set, pre)
	}
}

func callersSeq(f *faulty) {
	seqs := make(map[string]int64)
	f.append = func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		for _, m := range set.Messages {
			seqs[m.Text()] = m.Seq
		}
		return f.sound.Append(ctx, id, set, pre)
	}
	f.load = func(ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error) {
		h, err := f.sound.Load(ctx, id, opts)
		for i := range h.Messages {
			if seq := seqs[h.Messages[i].Text()]; seq != 0 {
				h.Messages[i].Seq = seq
			}
		}
		return h, err
	}
}

func ownIDs(f *faulty) {
	f.append = func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		set.Messages = slices.Clone(set.Messages)
		for i := range set.Messages {
			if set.Messages[i].ID == "" {
				set.Messages[i].ID = selvage.NewID()
			}
		}
		return f.sound.Append(ctx, id, set, pre)
	}
}

func oneIDSpace(f *faulty) {
	var seen receipts
	next := f.append
	f.append = func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		if r, known := seen.get("", set.ID); known {
			return r, nil
		}
		r, err := next(ctx, id, set, pre)
		if err == nil {
			seen.put("", set.ID, r)
		}
		return r, err
	}
}
