package storetest

import (
	"context"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// sound is what a faulty store is made of.
type sound interface {
	selvage.Store
	selvage.Leaser
	selvage.Tenancy
}

// faulty is a store with one fault in it: each method may be replaced.
type faulty struct {
	sound

	append    func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error)
	load      func(ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error)
	state     func(ctx context.Context, id selvage.ThreadID, v selvage.Version) (state.Document, error)
	messages  func(ctx context.Context, id selvage.ThreadID, q selvage.MessageQuery) (selvage.MessagePage, error)
	changes   func(ctx context.Context, id selvage.ThreadID, q selvage.ChangeQuery) (selvage.ChangePage, error)
	threads   func(ctx context.Context, q selvage.ThreadQuery) (selvage.ThreadPage, error)
	runs      func(ctx context.Context, q selvage.RunQuery) (selvage.RunPage, error)
	delete    func(ctx context.Context, id selvage.ThreadID, strategy selvage.DeleteStrategy) error
	close     func() error
	acquire   func(ctx context.Context, id selvage.ThreadID, o selvage.Owner, ttl time.Duration) (selvage.Lease, error)
	renew     func(ctx context.Context, l selvage.Lease, ttl time.Duration) (selvage.Lease, error)
	release   func(ctx context.Context, l selvage.Lease) error
	tenant    func(name string) (selvage.Store, error)
	fork      func(ctx context.Context, req selvage.ForkRequest) (selvage.Receipt, error)
	box       selvage.Outbox
	watching  badWatcher
	retention badRetention
	attic     selvage.Blobs
	planted   []any // capabilities in place of the sound store's
}

// flawless is a faulty store without a fault yet.
func flawless(s sound) *faulty {
	box, _ := selvage.As[selvage.Outbox](s)
	attic, _ := selvage.As[selvage.Blobs](s)
	f := &faulty{box: box, attic: attic, watching: soundWatcher(s), retention: soundRetention(s), sound: s, append: s.Append, load: s.Load, state: s.State, messages: s.Messages, changes: s.Changes, threads: s.Threads,
		runs: s.Runs, delete: s.Delete, close: s.Close, acquire: s.Acquire, renew: s.Renew, release: s.Release, tenant: s.Tenant}
	if forker, ok := selvage.As[selvage.Forker](s); ok {
		f.fork = forker.Fork
	}
	return f
}

func (f *faulty) Append(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
	return f.append(ctx, id, set, pre)
}

func (f *faulty) Fork(ctx context.Context, req selvage.ForkRequest) (selvage.Receipt, error) {
	return f.fork(ctx, req)
}

func (f *faulty) Load(ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error) {
	return f.load(ctx, id, opts)
}

func (f *faulty) State(ctx context.Context, id selvage.ThreadID, v selvage.Version) (state.Document, error) {
	return f.state(ctx, id, v)
}

func (f *faulty) Messages(ctx context.Context, id selvage.ThreadID, q selvage.MessageQuery) (selvage.MessagePage, error) {
	return f.messages(ctx, id, q)
}

func (f *faulty) Changes(ctx context.Context, id selvage.ThreadID, q selvage.ChangeQuery) (selvage.ChangePage, error) {
	return f.changes(ctx, id, q)
}

func (f *faulty) Threads(ctx context.Context, q selvage.ThreadQuery) (selvage.ThreadPage, error) {
	return f.threads(ctx, q)
}

func (f *faulty) Runs(ctx context.Context, q selvage.RunQuery) (selvage.RunPage, error) {
	return f.runs(ctx, q)
}

func (f *faulty) Delete(ctx context.Context, id selvage.ThreadID, strategy selvage.DeleteStrategy) error {
	return f.delete(ctx, id, strategy)
}

func (f *faulty) Tenant(name string) (selvage.Store, error) { return f.tenant(name) }

func (f *faulty) Close() error { return f.close() }

func (f *faulty) Acquire(ctx context.Context, id selvage.ThreadID, o selvage.Owner, ttl time.Duration) (selvage.Lease, error) {
	return f.acquire(ctx, id, o, ttl)
}

func (f *faulty) Renew(ctx context.Context, l selvage.Lease, ttl time.Duration) (selvage.Lease, error) {
	return f.renew(ctx, l, ttl)
}

func (f *faulty) Release(ctx context.Context, l selvage.Lease) error { return f.release(ctx, l) }
