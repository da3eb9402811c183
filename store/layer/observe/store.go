package observe

import (
	"context"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

var _ selvage.Store = (*Store)(nil)

// Store tells what the store below does. It is safe for concurrent use if that
// store is, answers exactly what that store answers, and offers its
// capabilities through [selvage.As].
type Store struct {
	next selvage.Store
	o    *observer
}

// New returns a store that tells what next does. Closing it closes next. The
// error tells that Options.Metrics already holds other metrics of these names.
func New(next selvage.Store, opts Options) (*Store, error) {
	o := &observer{name: opts.Name, log: opts.Logger}
	if o.name == "" {
		o.name = "store"
	}
	if opts.Tracer != nil {
		o.tracer = opts.Tracer.Tracer("github.com/selvagehq/selvage/store/layer/observe")
	}
	if opts.Metrics != nil {
		m, err := newMetrics(opts.Metrics)
		if err != nil {
			return nil, err
		}
		o.metrics = m
	}
	return &Store{next, o}, nil
}

// Unwrap returns the store below.
func (s *Store) Unwrap() selvage.Store { return s.next }

// Capability offers the leases of the store below, and its tenants, observed.
// Every other capability is the store's own, and is not observed; see
// [selvage.As].
func (s *Store) Capability(target any) bool {
	switch t := target.(type) {
	case *selvage.Leaser:
		below, ok := selvage.As[selvage.Leaser](s.next)
		if ok {
			*t = leaser{below, s.o}
		}
		return ok
	case *selvage.Tenancy:
		below, ok := selvage.As[selvage.Tenancy](s.next)
		if ok {
			*t = tenancy{below, s.o}
		}
		return ok
	default:
		return false
	}
}

// Append implements [selvage.Store].
func (s *Store) Append(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
	ctx, c := s.o.begin(ctx, "append", id)
	r, err := s.next.Append(ctx, id, set, pre)
	var v volume
	if err == nil {
		v = volume{version: r.Version, rows: r.Added, bytes: ofMessages(set.Messages).bytes}
	}
	c.end(ctx, err, v)
	return r, err
}

// Load implements [selvage.Store].
func (s *Store) Load(ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error) {
	ctx, c := s.o.begin(ctx, "load", id)
	h, err := s.next.Load(ctx, id, opts)
	v := ofMessages(h.Messages)
	v.version = h.Thread.Version
	c.end(ctx, err, v)
	return h, err
}

// State implements [selvage.Store].
func (s *Store) State(ctx context.Context, id selvage.ThreadID, v selvage.Version) (state.Document, error) {
	ctx, c := s.o.begin(ctx, "state", id)
	doc, err := s.next.State(ctx, id, v)
	c.end(ctx, err, volume{version: v})
	return doc, err
}

// Messages implements [selvage.Store].
func (s *Store) Messages(ctx context.Context, id selvage.ThreadID, q selvage.MessageQuery) (selvage.MessagePage, error) {
	ctx, c := s.o.begin(ctx, "messages", id)
	page, err := s.next.Messages(ctx, id, q)
	c.end(ctx, err, ofMessages(page.Items))
	return page, err
}

// Changes implements [selvage.Store].
func (s *Store) Changes(ctx context.Context, id selvage.ThreadID, q selvage.ChangeQuery) (selvage.ChangePage, error) {
	ctx, c := s.o.begin(ctx, "changes", id)
	page, err := s.next.Changes(ctx, id, q)
	c.end(ctx, err, ofChanges(page.Items))
	return page, err
}

// Threads implements [selvage.Store].
func (s *Store) Threads(ctx context.Context, q selvage.ThreadQuery) (selvage.ThreadPage, error) {
	ctx, c := s.o.begin(ctx, "threads", "")
	page, err := s.next.Threads(ctx, q)
	c.end(ctx, err, volume{rows: len(page.Items)})
	return page, err
}

// Runs implements [selvage.Store].
func (s *Store) Runs(ctx context.Context, q selvage.RunQuery) (selvage.RunPage, error) {
	ctx, c := s.o.begin(ctx, "runs", q.ThreadID)
	page, err := s.next.Runs(ctx, q)
	c.end(ctx, err, volume{rows: len(page.Items)})
	return page, err
}

// Delete implements [selvage.Store].
func (s *Store) Delete(ctx context.Context, id selvage.ThreadID, strategy selvage.DeleteStrategy) error {
	ctx, c := s.o.begin(ctx, "delete", id)
	err := s.next.Delete(ctx, id, strategy)
	c.end(ctx, err, volume{})
	return err
}

// Close implements [selvage.Store].
func (s *Store) Close() error {
	ctx, c := s.o.begin(context.Background(), "close", "")
	err := s.next.Close()
	c.end(ctx, err, volume{})
	return err
}
