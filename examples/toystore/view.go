package toystore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/commit"
)

// life is the log since the thread was created, or created again.
func (t *thread) life() []entry {
	if len(t.log) > 0 && t.log[0].Next.Deleted {
		return t.log[1:]
	}
	return t.log
}

// at returns the index in the life of version v, 0 being the head.
func (t *thread) at(v selvage.Version) (int, error) {
	head, first := t.head.Thread, t.life()[0].Change.Version
	switch {
	case v == 0:
		v = head.Version
	case v < 0:
		return 0, &selvage.InvalidError{Field: "version", Reason: "the first version is 1"}
	case v > head.Version:
		return 0, fmt.Errorf("thread %q is at version %d and has not reached %d: %w", head.ID, head.Version, v, selvage.ErrNotFound)
	case v < first:
		return 0, fmt.Errorf("version %d of thread %q went with its former life: %w", v, head.ID, selvage.ErrGone)
	}
	return int(v - first), nil
}

// doc folds the state document out of the first n changes: the last that one
// of them made. A change that rewinds makes the one of the version it goes to.
func (t *thread) doc(n int) state.Document {
	for _, e := range slices.Backward(t.life()[:n]) {
		if e.State != nil {
			return *e.State
		}
	}
	return state.Document{}
}

// messages folds the messages of the segments out of the log.
func (t *thread) messages(segments []commit.Segment) []selvage.Message {
	messages := []selvage.Message{}
	for _, e := range t.life() {
		for _, m := range e.messages {
			if slices.ContainsFunc(segments, func(s commit.Segment) bool { return s.First <= m.Seq && m.Seq <= s.Last }) {
				messages = append(messages, m)
			}
		}
	}
	return messages
}

// runs folds the runs of all threads out of their logs, as they stand now.
func (s *Store) runs() []row[selvage.Run] {
	var runs []row[selvage.Run]
	for _, t := range s.threads {
		index := make(map[selvage.RunID]int)
		for _, e := range t.life() {
			for i, run := range e.Runs {
				at, known := index[run.ID]
				if !known {
					at = len(runs)
					index[run.ID] = at
					runs = append(runs, row[selvage.Run]{key: e.place + int64(i)})
				}
				runs[at].item = run
			}
		}
	}
	return runs
}

// Load implements [selvage.Store].
func (s *Store) Load(ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error) {
	window := selvage.DefaultWindow
	if opts.Messages != nil {
		window = *opts.Messages
	}
	if window < 0 {
		return selvage.Head{}, &selvage.InvalidError{Field: "messages", Reason: "their number may not be negative"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return selvage.Head{}, err
	}
	t, err := s.find(id)
	if err != nil {
		return selvage.Head{}, err
	}
	h := &t.head
	head, err := reread(selvage.Head{Thread: h.Thread, Hash: h.Hash, NextSeq: h.NextSeq, OpenRun: h.OpenRun, OpenCalls: h.OpenCalls,
		Messages: t.messages(commit.Window(h.Visible(1), int64(window)))})
	head.State = t.doc(len(t.life()))
	if t.lease != nil && t.lease.Until.After(time.Now()) {
		lease := *t.lease
		lease.Token, lease.Took = "", nil
		head.Lease = &lease
	}
	return head, err
}

// State implements [selvage.Store].
func (s *Store) State(ctx context.Context, id selvage.ThreadID, v selvage.Version) (state.Document, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return state.Document{}, err
	}
	t, err := s.find(id)
	if err != nil {
		return state.Document{}, err
	}
	i, err := t.at(v)
	if err != nil {
		return state.Document{}, err
	}
	return t.doc(i + 1), nil
}

// reread returns v as a store of bytes would read it back. It shares nothing
// with v.
func reread[T any](v T) (out T, err error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // the hashes cover the bytes of messages
	if err := e.Encode(v); err != nil {
		return out, err
	}
	return out, json.Unmarshal(b.Bytes(), &out)
}
