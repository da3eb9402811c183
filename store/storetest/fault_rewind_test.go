package storetest

import (
	"context"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

func rewindFaults() []fault {
	return []fault{
		{"rewinds nothing", onAppend(noRewind), []string{"Rewind/RestoresMessagesAndState", "Rewind/RewindOfARewind", "Rewind/SeqsAreNeverReused",
			"Rewind/IDsAreFreeAgain", "Rewind/PagesAcross", "Rewind/WindowAcross", "Rewind/FarBack", "Rewind/EventTellsOfIt", "Rewind/ThreadAndEventsComeAlong", "Rewind/Seed11"}},
		{"drops rewinds that may not be", lenient("rewind", func(s *selvage.ChangeSet) { s.Rewind = nil }),
			[]string{"Rewind/OpenRunRefuses", "Rewind/TargetsAreChecked", "Rewind/ComesAlone", "Rewind/Seed12"}},
		{"says nothing where there is nothing to go back to", insteadOf(selvage.ErrGone, func(s *selvage.ChangeSet, _ *selvage.Precondition) bool {
			gone := s.Rewind != nil
			s.Rewind = nil
			return gone
		}), []string{"Rewind/FormerLifeIsGone"}},
		{"rewinds without end", insteadOf(selvage.ErrTooLarge, func(s *selvage.ChangeSet, _ *selvage.Precondition) bool { s.Rewind = nil; return true }),
			[]string{"Rewind/OftenIsBounded"}},
		{"rewinds whatever was written meanwhile", onAppend(rewindAny), []string{"Rewind/OneWinner", "Rewind/TargetsAreChecked"}},
		{"repeats rewinds", onAppend(rewindTwice), []string{"Rewind/IsRepeatable"}},
		{"closes runs to rewind", onAppend(rewindFresh), []string{"Rewind/OpenRunRefuses"}},
		{"folds the log past rewinds", foldPastRewinds, []string{"Rewind/EveryVersionStaysReadable", "Rewind/RestoresMessagesAndState", "Rewind/Seed13"}},
		{"shows what was hidden", showHidden, []string{"Rewind/EveryVersionStaysReadable", "Rewind/PagesAcross", "Rewind/FarBack"}},
		{"takes runs back", runsTakenBack, []string{"Rewind/FactsStay"}},
	}
}

func noRewind(next appendFunc) appendFunc {
	return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		if set.Rewind != nil {
			set.Rewind = nil
			if set.Reason == selvage.ReasonRewound {
				set.Reason = ""
			}
		}
		return next(ctx, id, set, pre)
	}
}

func rewindAny(next appendFunc) appendFunc {
	return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		if v, exact := pre.Version(); set.Rewind != nil && exact && v > 0 {
			pre = selvage.Any()
		}
		return next(ctx, id, set, pre)
	}
}

func rewindTwice(next appendFunc) appendFunc {
	return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		if set.Rewind != nil {
			set.ID, pre = "", selvage.Any()
		}
		return next(ctx, id, set, pre)
	}
}

func rewindFresh(next appendFunc) appendFunc {
	return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		r, err := next(ctx, id, set, pre)
		if set.Rewind != nil && err != nil {
			if _, err := next(ctx, id, runSet(done("run-of-"+string(id))), selvage.Any()); err == nil {
				return next(ctx, id, set, pre)
			}
		}
		return r, err
	}
}

// foldPastRewinds answers the state as if a rewind were any change.
func foldPastRewinds(f *faulty) {
	f.state = func(ctx context.Context, id selvage.ThreadID, v selvage.Version) (state.Document, error) {
		doc, err := f.sound.State(ctx, id, v)
		if err != nil {
			return doc, err
		}
		doc = state.Document{}
		q := selvage.ChangeQuery{Limit: ptr(selvage.MaxPage)}
		for more := true; more; more = q.Cursor != "" {
			page, err := f.sound.Changes(ctx, id, q)
			if err != nil {
				return doc, err
			}
			for i := range page.Items {
				c := &page.Items[i]
				if v != 0 && c.Version > v {
					return doc, nil
				}
				if after, err := c.ApplyState(doc); err == nil {
					doc = after
				}
			}
			q.Cursor = page.Next
		}
		return doc, nil
	}
}

// showHidden answers as of an old version what its last version before a rewind
// could see.
func showHidden(f *faulty) {
	f.messages = func(ctx context.Context, id selvage.ThreadID, q selvage.MessageQuery) (selvage.MessagePage, error) {
		page, err := f.sound.Messages(ctx, id, q)
		if err != nil || q.Cursor != "" {
			return page, err
		}
		last, err := f.sound.Changes(ctx, id, selvage.ChangeQuery{Before: q.At + 1, Order: selvage.Descending, Limit: ptr(1)})
		if q.At == 0 {
			last, err = f.sound.Changes(ctx, id, selvage.ChangeQuery{Order: selvage.Descending, Limit: ptr(1)})
		}
		if err != nil || len(last.Items) == 0 || last.Items[0].Reason != selvage.ReasonRewound {
			return page, err
		}
		q.At = last.Items[0].Version - 1
		return f.sound.Messages(ctx, id, q)
	}
}

// runsTakenBack lists no run after a rewind.
func runsTakenBack(f *faulty) {
	f.runs = func(ctx context.Context, q selvage.RunQuery) (selvage.RunPage, error) {
		page, err := f.sound.Runs(ctx, q)
		last, _ := f.sound.Changes(ctx, q.ThreadID, selvage.ChangeQuery{Order: selvage.Descending, Limit: ptr(1)})
		if err == nil && len(last.Items) == 1 && last.Items[0].Reason == selvage.ReasonRewound {
			page.Items = []selvage.Run{}
		}
		return page, err
	}
}
