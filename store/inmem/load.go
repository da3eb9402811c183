package inmem

import (
	"context"
	"fmt"
	"slices"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/commit"
)

// Load implements [selvage.Store].
func (s *Store) Load(ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.enter(ctx); err != nil {
		return selvage.Head{}, fmt.Errorf("load thread %q: %w", id, err)
	}
	window := int64(selvage.DefaultWindow)
	if opts.Messages != nil {
		if window = int64(*opts.Messages); window < 0 {
			return selvage.Head{}, fmt.Errorf("load thread %q: %w", id,
				&selvage.InvalidError{Field: "messages", Reason: "the number of messages may not be negative"})
		}
	}
	t, err := s.find(id)
	if err != nil {
		return selvage.Head{}, fmt.Errorf("load: %w", err)
	}
	if v := t.head.Thread.Version; v < t.head.Horizon {
		return selvage.Head{}, fmt.Errorf("load: %w", commit.GoneBelow(&t.head, v))
	}
	head := selvage.Head{
		Thread: cloneThread(t.head.Thread), Hash: t.head.Hash, State: t.doc(), NextSeq: t.head.NextSeq,
		Messages:  cloneMessages(t.visible(commit.Window(t.head.Visible(1), window))),
		OpenCalls: slices.Clone(t.head.OpenCalls),
	}
	if t.head.OpenRun != nil {
		run := cloneRun(*t.head.OpenRun)
		head.OpenRun = &run
	}
	if t.lease != nil && t.lease.Until.After(s.now()) {
		lease := *t.lease
		lease.Token, lease.Took = "", nil
		head.Lease = &lease
	}
	return head, nil
}

// State implements [selvage.Store].
func (s *Store) State(ctx context.Context, id selvage.ThreadID, v selvage.Version) (state.Document, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.enter(ctx); err != nil {
		return state.Document{}, fmt.Errorf("state of thread %q: %w", id, err)
	}
	t, err := s.find(id)
	if err != nil {
		return state.Document{}, fmt.Errorf("state: %w", err)
	}
	i, err := t.at(v)
	if err != nil {
		return state.Document{}, fmt.Errorf("state: %w", err)
	}
	if v := t.log[i].Version; v < t.head.Horizon {
		return state.Document{}, fmt.Errorf("state: %w", commit.GoneBelow(&t.head, v))
	}
	return t.docs[i], nil
}
