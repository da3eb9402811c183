package storetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/inmem"
)

// disk stands for what outlives a store: the store in memory behind it.
type disk struct {
	selvage.Store
	selvage.Leaser
}

func newDisk() *disk {
	s := inmem.New(inmem.Options{})
	return &disk{s, s}
}

// handle is a store opened on a disk. Closing it leaves the disk as it is, so
// that it can be opened again, or twice.
type handle struct {
	disk *disk

	mu     sync.RWMutex // held shared during calls
	closed bool
}

// enter begins a call and returns what ends it.
func (h *handle) enter() (leave func(), err error) {
	h.mu.RLock()
	if h.closed {
		h.mu.RUnlock()
		return nil, selvage.ErrClosed
	}
	return h.mu.RUnlock, nil
}

func (h *handle) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return selvage.ErrClosed
	}
	h.closed = true
	return nil
}

// during makes a call if the handle is open.
func during[T any](h *handle, call func() (T, error)) (T, error) {
	leave, err := h.enter()
	if err != nil {
		var none T
		return none, err
	}
	defer leave()
	return call()
}

func (h *handle) Append(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
	return during(h, func() (selvage.Receipt, error) { return h.disk.Append(ctx, id, set, pre) })
}

func (h *handle) Load(ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error) {
	return during(h, func() (selvage.Head, error) { return h.disk.Load(ctx, id, opts) })
}

func (h *handle) State(ctx context.Context, id selvage.ThreadID, v selvage.Version) (state.Document, error) {
	return during(h, func() (state.Document, error) { return h.disk.State(ctx, id, v) })
}

func (h *handle) Messages(ctx context.Context, id selvage.ThreadID, q selvage.MessageQuery) (selvage.MessagePage, error) {
	return during(h, func() (selvage.MessagePage, error) { return h.disk.Messages(ctx, id, q) })
}

func (h *handle) Changes(ctx context.Context, id selvage.ThreadID, q selvage.ChangeQuery) (selvage.ChangePage, error) {
	return during(h, func() (selvage.ChangePage, error) { return h.disk.Changes(ctx, id, q) })
}

func (h *handle) Threads(ctx context.Context, q selvage.ThreadQuery) (selvage.ThreadPage, error) {
	return during(h, func() (selvage.ThreadPage, error) { return h.disk.Threads(ctx, q) })
}

func (h *handle) Runs(ctx context.Context, q selvage.RunQuery) (selvage.RunPage, error) {
	return during(h, func() (selvage.RunPage, error) { return h.disk.Runs(ctx, q) })
}

func (h *handle) Delete(ctx context.Context, id selvage.ThreadID, strategy selvage.DeleteStrategy) error {
	_, err := during(h, func() (struct{}, error) { return struct{}{}, h.disk.Delete(ctx, id, strategy) })
	return err
}

func (h *handle) Acquire(ctx context.Context, id selvage.ThreadID, o selvage.Owner, ttl time.Duration) (selvage.Lease, error) {
	return during(h, func() (selvage.Lease, error) { return h.disk.Acquire(ctx, id, o, ttl) })
}

func (h *handle) Renew(ctx context.Context, l selvage.Lease, ttl time.Duration) (selvage.Lease, error) {
	return during(h, func() (selvage.Lease, error) { return h.disk.Renew(ctx, l, ttl) })
}

func (h *handle) Release(ctx context.Context, l selvage.Lease) error {
	_, err := during(h, func() (struct{}, error) { return struct{}{}, h.disk.Release(ctx, l) })
	return err
}

// watcher is the disk's.
func (h *handle) watcher() selvage.Watcher {
	w, _ := selvage.As[selvage.Watcher](h.disk.Store)
	return w
}

func (h *handle) Events(ctx context.Context, id selvage.ThreadID, q selvage.EventQuery) (selvage.EventPage, error) {
	return during(h, func() (selvage.EventPage, error) { return h.watcher().Events(ctx, id, q) })
}

func (h *handle) Feed(ctx context.Context, q selvage.FeedQuery) (selvage.FeedPage, error) {
	return during(h, func() (selvage.FeedPage, error) { return h.watcher().Feed(ctx, q) })
}

func (h *handle) End(ctx context.Context) (selvage.FeedPosition, error) {
	return during(h, func() (selvage.FeedPosition, error) { return h.watcher().End(ctx) })
}

// TestReopenAndShare runs what only stores with a disk claim, and sequences
// with restarts in them.
func TestReopenAndShare(t *testing.T) {
	t.Parallel()
	again := func(_ *testing.T, s selvage.Store) selvage.Store { return &handle{disk: s.(*handle).disk} }
	cfg := Config{
		New: func(*testing.T) selvage.Store { return &handle{disk: newDisk()} },
		Reopen: func(t *testing.T, old selvage.Store) selvage.Store {
			if err := old.Close(); err != nil {
				t.Error(err)
			}
			return again(t, old)
		},
		Share: again,
		Seeds: []uint64{7},
	}
	ran := 0
	for _, g := range groups(cfg) {
		switch g.name {
		case "Reopen", "Share", "Sequences", "WatcherReopen", "WatcherShare":
			t.Run(g.name, func(t *testing.T) { g.run(t, cfg) })
			ran++
		}
	}
	if ran != 5 {
		t.Errorf("%d of 5 groups were run", ran)
	}
}

// Tenant is another handle, on a part of the disk.
func (h *handle) Tenant(name string) (selvage.Store, error) {
	return during(h, func() (selvage.Store, error) {
		s, err := h.disk.Store.(selvage.Tenancy).Tenant(name)
		if err != nil {
			return nil, err
		}
		return &handle{disk: &disk{s, s.(selvage.Leaser)}}, nil
	})
}

func (h *handle) Tenants(ctx context.Context, after string) ([]string, error) {
	return during(h, func() ([]string, error) { return h.disk.Store.(selvage.Tenancy).Tenants(ctx, after) })
}
