package linear_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/linear"
	"github.com/selvagehq/selvage/store/inmem"
)

// buggy is a store with a bug now and then.
type buggy struct {
	selvage.Store
	calls  atomic.Int64
	append func(b *buggy, ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error)
	load   func(b *buggy, ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error)
	remove func(b *buggy, ctx context.Context, id selvage.ThreadID, s selvage.DeleteStrategy) error
	cache  sync.Map
}

func (b *buggy) now() bool { return b.calls.Add(1)%7 == 0 }

func (b *buggy) Append(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
	if b.append != nil {
		return b.append(b, ctx, id, set, pre)
	}
	return b.Store.Append(ctx, id, set, pre)
}

func (b *buggy) Load(ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error) {
	if b.load != nil {
		return b.load(b, ctx, id, opts)
	}
	return b.Store.Load(ctx, id, opts)
}

func (b *buggy) Delete(ctx context.Context, id selvage.ThreadID, s selvage.DeleteStrategy) error {
	if b.remove != nil {
		return b.remove(b, ctx, id, s)
	}
	return b.Store.Delete(ctx, id, s)
}

// unanswered hides what became of some calls, as a network does, so that sets
// are sent again.
func unanswered(b *buggy, ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
	lost := b.now()
	if lost && b.calls.Load()%2 == 0 {
		return selvage.Receipt{}, selvage.ErrUnknownOutcome
	}
	r, err := b.Store.Append(ctx, id, set, pre)
	if lost {
		return selvage.Receipt{}, selvage.ErrUnknownOutcome
	}
	return r, err
}

func workload() linear.Workload { return linear.Workload{Clients: 8, Threads: 4, Ops: 60, Seed: 1} }

func check(t *testing.T, s selvage.Store) error {
	t.Helper()
	return checkWith(t, s, workload())
}

func checkWith(t *testing.T, s selvage.Store, w linear.Workload) error {
	t.Helper()
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	history := w.Record(t.Context(), func(int) selvage.Store { return s })
	return linear.Check(append(history, w.Look(t.Context(), s)...))
}

// A store that keeps its word is believed, also when its answers get lost. Each
// of those may have come at any later time, so that judging takes time
// exponential in their number: the history is a short one.
func TestTrueStore(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]*buggy{"answers": {}, "some answers": {append: unanswered}} {
		b.Store = inmem.New(inmem.Options{})
		w := workload()
		if b.append != nil {
			w.Ops = 20
		}
		if err := checkWith(t, b, w); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Every bug is found.
func TestBugs(t *testing.T) {
	t.Parallel()
	bugs := map[string]*buggy{
		"a load answers from a cache that is out of date": {
			load: func(b *buggy, ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error) {
				if old, found := b.cache.Load(id); found && b.now() {
					return old.(selvage.Head), nil
				}
				h, err := b.Store.Load(ctx, id, opts)
				if err == nil {
					b.cache.Store(id, h)
				}
				return h, err
			},
		},
		"a conflict is answered as if it had been written": {
			append: func(b *buggy, ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
				r, err := b.Store.Append(ctx, id, set, pre)
				var c *selvage.ConflictError
				if errors.As(err, &c) {
					return selvage.Receipt{ChangeID: set.ID, Version: c.Expected + 1, FirstSeq: int64(c.Expected), Added: len(set.Messages)}, nil
				}
				return r, err
			},
		},
		"an append is acknowledged and not written": {
			append: func(b *buggy, ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
				if h, err := b.Store.Load(ctx, id, selvage.LoadOptions{}); err == nil && pre.IsAny() && b.now() {
					return selvage.Receipt{ChangeID: set.ID, Version: h.Thread.Version + 1, FirstSeq: h.NextSeq, Added: len(set.Messages)}, nil
				}
				return b.Store.Append(ctx, id, set, pre)
			},
		},
		"what was sent again is written again": {
			append: func(b *buggy, ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
				_, again := b.cache.LoadOrStore(set.ID, true)
				if again && len(set.Messages) > 0 {
					set.Messages[0].ID += "-again"
					own := set.ID
					set.ID += "-again"
					r, err := b.Store.Append(ctx, id, set, pre)
					r.ChangeID = own
					return r, err
				}
				return unanswered(b, ctx, id, set, pre)
			},
		},
		"a precondition is not checked": {
			append: func(b *buggy, ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
				if _, exact := pre.Version(); exact && !pre.IsNew() {
					pre = selvage.Any()
				}
				return b.Store.Append(ctx, id, set, pre)
			},
		},
		"a load mixes two moments": {
			load: func(b *buggy, ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error) {
				h, err := b.Store.Load(ctx, id, opts)
				for range 100 {
					later, err2 := b.Store.Load(ctx, id, opts)
					if err != nil || err2 != nil {
						break
					}
					h.State = later.State
					runtime.Gosched()
				}
				return h, err
			},
		},
		"a deleted thread can still be loaded": {
			load: func(b *buggy, ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error) {
				h, err := b.Store.Load(ctx, id, opts)
				if old, found := b.cache.Load(id); found && errors.Is(err, selvage.ErrNotFound) {
					return old.(selvage.Head), nil
				}
				b.cache.Store(id, h)
				return h, err
			},
		},
		"a deletion is acknowledged and not done": {
			remove: func(b *buggy, ctx context.Context, id selvage.ThreadID, s selvage.DeleteStrategy) error {
				if _, err := b.Store.Load(ctx, id, selvage.LoadOptions{}); err == nil {
					return nil
				}
				return b.Store.Delete(ctx, id, s)
			},
		},
		"a replay answers another receipt": {
			append: func(b *buggy, ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
				r, err := unanswered(b, ctx, id, set, pre)
				if r.Replayed {
					r.Version++
				}
				return r, err
			},
		},
	}
	for name, b := range bugs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b.Store = inmem.New(inmem.Options{})
			err := check(t, b)
			if err == nil {
				t.Fatal("the bug was not found")
			}
			t.Log(err)
		})
	}
}
