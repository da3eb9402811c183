package retry_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// flaky is a store whose line is bad: of the calls of one kind, every third
// goes astray before it arrives, and every third of the others that write
// loses its answer. Which, follows from the seed.
type flaky struct {
	selvage.Store
	leases selvage.Leaser

	mu    sync.Mutex // guards calls and lost
	calls map[string]uint32
	lost  map[string]bool // change sets whose answer was lost, and not asked for again

	// settled is held for reading by each append until its caller has an
	// answer. A deletion waits: what was
	// appended, and deleted before it was acknowledged, is no loss of the
	// layer, but the kit would take it for one.
	settled sync.RWMutex
}

func newFlaky(s selvage.Store) *flaky {
	leases, _ := selvage.As[selvage.Leaser](s)
	return &flaky{Store: s, leases: leases, calls: make(map[string]uint32), lost: make(map[string]bool)}
}

var (
	errAstray = fmt.Errorf("the line is down: %w", selvage.ErrUnavailable)
	errLost   = fmt.Errorf("the answer was lost: %w", selvage.ErrUnknownOutcome)
)

// lot draws for the next call of a kind.
func (f *flaky) lot(kind string) uint32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[kind]++
	h := fnv.New32a()
	fmt.Fprint(h, kind, f.calls[kind])
	return h.Sum32() / 7
}

// read makes a call that changes nothing.
func read[T any](f *flaky, kind string, call func() (T, error)) (answer T, err error) {
	if f.lot(kind)%3 == 0 {
		return answer, errAstray
	}
	return call()
}

// write makes a call that can be made again.
func write[T any](f *flaky, kind string, call func() (T, error)) (answer T, err error) {
	switch n := f.lot(kind); {
	case n%3 == 0:
		return answer, errAstray
	case n%9 < 3:
		if _, err := call(); err != nil {
			return answer, err // a refusal is told
		}
		return answer, errLost
	}
	return call()
}

func (f *flaky) Append(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
	call := func() (selvage.Receipt, error) { return f.Store.Append(ctx, id, set, pre) }
	if !generated(set.ID) {
		// A lost answer would make the receipt a replay, which tests that
		// name their sets tell from a first one.
		return read(f, "append", call)
	}
	f.mu.Lock()
	again := f.lost[set.ID]
	f.mu.Unlock()
	if !again {
		f.settled.RLock()
	}
	r, err := write(f, "append", call)
	lost := (errors.Is(err, errLost) || again && errors.Is(err, errAstray)) && ctx.Err() == nil // else nobody asks again
	if !lost {
		f.settled.RUnlock()
	}
	f.mu.Lock()
	f.lost[set.ID] = lost
	f.mu.Unlock()
	return r, err
}

func (f *flaky) Delete(ctx context.Context, id selvage.ThreadID, strategy selvage.DeleteStrategy) error {
	f.settled.Lock()
	defer f.settled.Unlock()
	return f.Store.Delete(ctx, id, strategy)
}

// generated reports whether an id is a UUID, as those of the layer are.
func generated(id string) bool { return len(id) == 36 && id[8] == '-' && id[13] == '-' }

func (f *flaky) Load(ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error) {
	return read(f, "load", func() (selvage.Head, error) { return f.Store.Load(ctx, id, opts) })
}

func (f *flaky) State(ctx context.Context, id selvage.ThreadID, v selvage.Version) (state.Document, error) {
	return read(f, "state", func() (state.Document, error) { return f.Store.State(ctx, id, v) })
}

func (f *flaky) Messages(ctx context.Context, id selvage.ThreadID, q selvage.MessageQuery) (selvage.MessagePage, error) {
	return read(f, "messages", func() (selvage.MessagePage, error) { return f.Store.Messages(ctx, id, q) })
}

func (f *flaky) Changes(ctx context.Context, id selvage.ThreadID, q selvage.ChangeQuery) (selvage.ChangePage, error) {
	return read(f, "changes", func() (selvage.ChangePage, error) { return f.Store.Changes(ctx, id, q) })
}

func (f *flaky) Threads(ctx context.Context, q selvage.ThreadQuery) (selvage.ThreadPage, error) {
	return read(f, "threads", func() (selvage.ThreadPage, error) { return f.Store.Threads(ctx, q) })
}

func (f *flaky) Runs(ctx context.Context, q selvage.RunQuery) (selvage.RunPage, error) {
	return read(f, "runs", func() (selvage.RunPage, error) { return f.Store.Runs(ctx, q) })
}

func (f *flaky) Unwrap() selvage.Store { return f.Store }

func (f *flaky) Capability(target any) bool {
	switch t := target.(type) {
	case *selvage.Leaser:
		*t = flakyLeaser{f}
	case *selvage.Tenancy:
		below, ok := selvage.As[selvage.Tenancy](f.Store)
		if ok {
			*t = flakyTenancy{below}
		}
		return ok
	default:
		return false
	}
	return true
}

type flakyTenancy struct{ selvage.Tenancy }

func (t flakyTenancy) Tenant(name string) (selvage.Store, error) {
	s, err := t.Tenancy.Tenant(name)
	if err != nil {
		return nil, err
	}
	return newFlaky(s), nil
}

type flakyLeaser struct{ f *flaky }

func (l flakyLeaser) Acquire(ctx context.Context, id selvage.ThreadID, o selvage.Owner, ttl time.Duration) (selvage.Lease, error) {
	return l.f.leases.Acquire(ctx, id, o, ttl)
}

func (l flakyLeaser) Renew(ctx context.Context, lease selvage.Lease, ttl time.Duration) (selvage.Lease, error) {
	return write(l.f, "renew", func() (selvage.Lease, error) { return l.f.leases.Renew(ctx, lease, ttl) })
}

func (l flakyLeaser) Release(ctx context.Context, lease selvage.Lease) error {
	_, err := write(l.f, "release", func() (struct{}, error) { return struct{}{}, l.f.leases.Release(ctx, lease) })
	return err
}
