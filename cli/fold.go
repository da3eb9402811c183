package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/commit"
)

// fold is what the changes of a thread add up to when each is judged again.
type fold struct {
	head     commit.Head
	doc      state.Document
	messages map[string]bool // ids
	runs     map[selvage.RunID]selvage.Run
	calls    map[string]selvage.Call
}

func newFold() *fold {
	return &fold{messages: map[string]bool{}, runs: map[selvage.RunID]selvage.Run{}, calls: map[string]selvage.Call{}}
}

// take adds the next change.
func (f *fold) take(c *selvage.Change) error {
	p, err := commit.Again(&f.head, c, f)
	if err != nil {
		return err
	}
	f.head = p.Next
	if p.State != nil {
		f.doc = *p.State
	}
	for _, id := range p.MessageIDs {
		f.messages[id] = true
	}
	for _, r := range p.Runs {
		f.runs[r.ID] = r
	}
	for _, call := range p.Calls {
		f.calls[call.ID] = call
	}
	return nil
}

// bury begins with a tombstone: what was before it is gone.
func (f *fold) bury(c *selvage.Change) {
	f.head = commit.Head{Deleted: true, Hash: c.Hash, NextSeq: c.FirstSeq,
		Thread: selvage.Thread{ID: c.ThreadID, Version: c.Version, CreatedAt: c.At, UpdatedAt: c.At}}
}

// State implements [commit.Reader], as do the methods below.
func (f *fold) State() (state.Document, error) { return f.doc, nil }

// KnownMessages answers from the changes so far.
func (f *fold) KnownMessages(ids []string) ([]bool, error) {
	known := make([]bool, len(ids))
	for i, id := range ids {
		known[i] = f.messages[id]
	}
	return known, nil
}

// Run answers from the changes so far.
func (f *fold) Run(id selvage.RunID) (*selvage.Run, error) {
	if r, ok := f.runs[id]; ok {
		return &r, nil
	}
	return nil, nil
}

// Call answers from the changes so far.
func (f *fold) Call(id string) (*selvage.Call, error) {
	if c, ok := f.calls[id]; ok {
		return &c, nil
	}
	return nil, nil
}

// Parent takes every parent for a root: what it was then is not in this log.
func (f *fold) Parent(selvage.ThreadID) (selvage.ThreadID, bool, error) { return "", true, nil }

// meets holds what a store serves as the head against the fold.
func (f *fold) meets(head *selvage.Head) error {
	bad := func(format string, args ...any) error {
		return f.wrong("the head "+format, args...)
	}
	switch {
	case head.Thread.Version != f.head.Thread.Version:
		return bad("is at version %d and the log ends at %d", head.Thread.Version, f.head.Thread.Version)
	case head.Hash != f.head.Hash:
		return bad("has another hash than the last change")
	case head.NextSeq != max(f.head.NextSeq, 1):
		return bad("counts to message %d and the log to %d", head.NextSeq-1, f.head.NextSeq-1)
	case !head.State.Equal(f.doc):
		return bad("has another state than the log adds up to")
	}
	want := f.head.Thread
	want.Tenant = head.Thread.Tenant // not in the log
	for _, pair := range []struct {
		what      string
		is, would any
	}{
		{"says something else about the thread", head.Thread, want},
		{"has another open run", head.OpenRun, f.head.OpenRun},
		{"has other open calls", slices.Concat(head.OpenCalls), slices.Concat(f.head.OpenCalls)}, // none is none, made or not
	} {
		if same, err := sameJSON(pair.is, pair.would); err != nil || !same {
			return errors.Join(err, bad("%s than the log adds up to", pair.what))
		}
	}
	return nil
}

// wrong is an error about what was served besides the log.
func (f *fold) wrong(format string, args ...any) error {
	return &retold{err: selvage.ErrCorrupt, text: fmt.Sprintf(format, args...)}
}

// meetsRuns holds the runs a store lists against the fold. A run that is open
// is in the head.
func (f *fold) meetsRuns(ctx context.Context, store selvage.Store) error {
	limit, listed := selvage.MaxPage, 0
	query := selvage.RunQuery{ThreadID: f.head.Thread.ID, Limit: &limit}
	for {
		page, err := store.Runs(ctx, query)
		if err != nil {
			return err
		}
		for i := range page.Items {
			want, known := f.runs[page.Items[i].ID]
			if !known {
				continue // begun since
			}
			listed++
			same, err := sameJSON(page.Items[i], want)
			if err != nil || !same && !want.Status.Open() {
				return errors.Join(err, f.wrong("run %q is listed otherwise than the log has it", want.ID))
			}
		}
		if page.Next == "" {
			break
		}
		query.Cursor = page.Next
	}
	if listed < len(f.runs) {
		return f.wrong("%d runs of the log are not listed", len(f.runs)-listed)
	}
	return nil
}

// sameJSON reports whether two values look the same to whoever reads them.
func sameJSON(a, b any) (bool, error) {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return bytes.Equal(x, y), errors.Join(errX, errY)
}
