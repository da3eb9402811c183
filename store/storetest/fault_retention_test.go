package storetest

import (
	"context"
	"errors"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

type (
	eraseFunc   = func(context.Context, selvage.ThreadID, selvage.EraseRequest) (selvage.Receipt, error)
	compactFunc = func(context.Context, selvage.CompactRequest) (selvage.CompactReport, error)
)

// badRetention is an eraser and a compactor each of whose methods may be
// replaced.
type badRetention struct {
	erase   eraseFunc
	compact compactFunc
}

func soundRetention(s selvage.Store) badRetention {
	var bad badRetention
	if e, ok := selvage.As[selvage.Eraser](s); ok {
		bad.erase = e.Erase
	}
	if c, ok := selvage.As[selvage.Compactor](s); ok {
		bad.compact = c.Compact
	}
	return bad
}

// A faulty store is an Eraser and a Compactor by these methods.

func (f *faulty) Erase(ctx context.Context, id selvage.ThreadID, req selvage.EraseRequest) (selvage.Receipt, error) {
	return f.retention.erase(ctx, id, req)
}

func (f *faulty) Compact(ctx context.Context, req selvage.CompactRequest) (selvage.CompactReport, error) {
	return f.retention.compact(ctx, req)
}

// onErase plants a fault in what is asked to be erased.
func onErase(change func(*selvage.EraseRequest)) func(*faulty) {
	return func(f *faulty) {
		next := f.retention.erase
		f.retention.erase = func(ctx context.Context, id selvage.ThreadID, req selvage.EraseRequest) (selvage.Receipt, error) {
			change(&req)
			return next(ctx, id, req)
		}
	}
}

// onCompact plants a fault in what is asked to be compacted.
func onCompact(change func(*selvage.CompactRequest)) func(*faulty) {
	return func(f *faulty) {
		next := f.retention.compact
		f.retention.compact = func(ctx context.Context, req selvage.CompactRequest) (selvage.CompactReport, error) {
			change(&req)
			return next(ctx, req)
		}
	}
}

func retentionFaults() []fault {
	return []fault{
		{"only says that it erased", func(f *faulty) {
			f.retention.erase = func(ctx context.Context, id selvage.ThreadID, req selvage.EraseRequest) (selvage.Receipt, error) {
				return f.append(ctx, id, selvage.ChangeSet{ID: req.ID}, selvage.Any())
			}
		}, []string{"Erase/ContentGoes", "Erase/TheLogTells", "Erase/SaltsGo", "Erase/DroppedDuplicatesGo", "Erase/DerivedIDs", "Erase/BesideWriters", "Erase/HiddenMessagesGo", "Compact/WithErasures"}},
		{"erases the neighbours, too", onErase(func(r *selvage.EraseRequest) {
			r.Messages = append(r.Messages[:len(r.Messages):len(r.Messages)], "before")
		}),
			[]string{"Erase/AllElseStays"}},
		{"takes every erasure for a new one", onErase(func(r *selvage.EraseRequest) { r.ID = "" }), []string{"Erase/RepeatableByID"}},
		{"erases what it finds", eraseWhatIsThere, []string{"Erase/WhatIsNotThere"}},
		{"remembers what was erased as missing", eraseOnce, []string{"Erase/TwiceDoesNoHarm", "Erase/RepeatableByID"}},
		{"keeps the salt", onChange(func(c *selvage.Change) {
			if len(c.Erased()) > 0 {
				c.Salt = make([]byte, selvage.SaltSize)
			}
		}), []string{"Erase/SaltsGo", "Erase/ChainHolds"}},
		{"serves erased messages without saying so", onMessagesOf(func(m *selvage.Message) { m.Erased = false }), []string{"Erase/ContentGoes"}},
		{"takes the word of a caller that a message was erased", lenient("messages", func(s *selvage.ChangeSet) { s.Messages = nil }), []string{"Erase/OnlySkeletonsByErasure"}},

		{"compacts nothing", func(f *faulty) {
			f.retention.compact = func(context.Context, selvage.CompactRequest) (selvage.CompactReport, error) {
				return selvage.CompactReport{}, nil
			}
		}, []string{"Compact/BelowIsGone", "Compact/RetentionIsKept", "Compact/LongWay", "Compact/Refused", "Compact/EveryThread", "Compact/FactsAreProved", "Compact/GoesOn"}},
		{"keeps nothing", onCompact(func(r *selvage.CompactRequest) { r.Retention = keepLast(0) }), []string{"Compact/RetentionIsKept", "Compact/BelowIsGone", "Compact/Refused"}},
		{"keeps one too few", onCompact(func(r *selvage.CompactRequest) {
			if r.Retention != nil && r.Retention.Checkpoints > 0 {
				r.Retention = keepLast(r.Retention.Checkpoints - 1)
			}
		}), []string{"Compact/RetentionIsKept", "Compact/BelowIsGone"}},
		{"does what it was only to work out", onCompact(func(r *selvage.CompactRequest) { r.DryRun, r.Archive = false, nil }), []string{"Compact/DryRunDoesNothing"}},
		{"archives nothing", onCompact(func(r *selvage.CompactRequest) { r.Archive = nil }), []string{"Compact/ArchiveFirst"}},
		{"goes on when the archive fails", onCompact(func(r *selvage.CompactRequest) {
			if archive := r.Archive; archive != nil {
				r.Archive = func(c *selvage.Change) error { _ = archive(c); return nil }
			}
		}), []string{"Compact/ArchiveFirst"}},
		{"answers the nearest state for what is gone", nearestState, []string{"Compact/BelowIsGone", "Compact/Recreated", "Compact/RewindsStay"}},
		{"loses messages with the states", onMessagesOf(func(m *selvage.Message) {
			if m.Seq < 3 {
				m.Content = nil
			}
		}), []string{"Erase/ContentGoes"}},
	}
}

// onMessagesOf plants a fault in each message that Messages answers.
func onMessagesOf(change func(*selvage.Message)) func(*faulty) {
	return func(f *faulty) {
		next := f.messages
		f.messages = func(ctx context.Context, id selvage.ThreadID, q selvage.MessageQuery) (selvage.MessagePage, error) {
			page, err := next(ctx, id, q)
			for i := range page.Items {
				change(&page.Items[i])
			}
			return page, err
		}
	}
}

func eraseWhatIsThere(f *faulty) {
	next := f.retention.erase
	f.retention.erase = func(ctx context.Context, id selvage.ThreadID, req selvage.EraseRequest) (selvage.Receipt, error) {
		r, err := next(ctx, id, req)
		if errors.Is(err, selvage.ErrNotFound) && len(req.Messages) > 1 {
			req.Messages = req.Messages[:1]
			return next(ctx, id, req)
		}
		return r, err
	}
}

// eraseOnce is of one thread, which is enough to catch it.
func eraseOnce(f *faulty) {
	next, gone := f.retention.erase, false
	f.retention.erase = func(ctx context.Context, id selvage.ThreadID, req selvage.EraseRequest) (selvage.Receipt, error) {
		if gone {
			return selvage.Receipt{}, selvage.ErrNotFound
		}
		gone = true
		return next(ctx, id, req)
	}
}

func nearestState(f *faulty) {
	next := f.state
	f.state = func(ctx context.Context, id selvage.ThreadID, v selvage.Version) (doc state.Document, err error) {
		if doc, err = next(ctx, id, v); errors.Is(err, selvage.ErrGone) {
			return next(ctx, id, 0)
		}
		return doc, err
	}
}
