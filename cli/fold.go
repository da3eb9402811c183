package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/commit"
)

// fold is what the changes of a thread add up to when each is judged again.
type fold struct {
	head    commit.Head
	doc     state.Document
	docs    []state.Document // after each change, from version first on
	next    []int64          // the next seq after each change
	first   selvage.Version
	heard   []heard         // what was said, by seq from heard[0] on, hidden or not
	visible map[string]bool // ids of the messages that can be seen
	runs    map[selvage.RunID]selvage.Run
	calls   map[string]selvage.Call
}

// heard is a message of the log.
type heard struct {
	seq     int64
	id      string
	version selvage.Version
	digest  [sha256.Size]byte // of its JSON
}

func newFold() *fold {
	return &fold{visible: map[string]bool{}, runs: map[selvage.RunID]selvage.Run{}, calls: map[string]selvage.Call{}}
}

// take adds the next change.
func (f *fold) take(c *selvage.Change) error {
	p, err := commit.Again(&f.head, c, f)
	if err != nil {
		return err
	}
	before := f.head
	f.head = p.Next
	if p.State != nil {
		f.doc = *p.State
	}
	if len(f.docs) == 0 {
		f.first = c.Version
	}
	f.docs, f.next = append(f.docs, f.doc), append(f.next, p.Next.NextSeq)
	if err := f.hear(c); err != nil {
		return err
	}
	if p.Rewind != 0 {
		f.turn(p, &before)
	}
	for _, r := range p.Runs {
		f.runs[r.ID] = r
	}
	for _, call := range p.Calls {
		f.calls[call.ID] = call
	}
	return nil
}

// hear takes in the messages of a change.
func (f *fold) hear(c *selvage.Change) error {
	added, err := c.AddedMessages()
	if err != nil {
		return err
	}
	for i := range added {
		m := heard{seq: added[i].Seq, id: added[i].ID, version: c.Version}
		if m.digest, err = digest(&added[i]); err != nil {
			return err
		}
		f.heard = append(f.heard, m)
		f.visible[m.id] = true
	}
	return nil
}

// turn hides messages and shows others again.
func (f *fold) turn(p *commit.Plan, before *commit.Head) {
	hidden, shown := p.Turned(before, 1)
	for m := range f.said(hidden) {
		delete(f.visible, m.id)
	}
	for m := range f.said(shown) {
		f.visible[m.id] = true
	}
}

// said goes through the messages of segments.
func (f *fold) said(segments []commit.Segment) iter.Seq[*heard] {
	return func(yield func(*heard) bool) {
		for _, s := range segments {
			from, _ := slices.BinarySearchFunc(f.heard, s.First, func(m heard, seq int64) int { return cmp.Compare(m.seq, seq) })
			for i := from; i < len(f.heard) && f.heard[i].seq <= s.Last; i++ {
				if !yield(&f.heard[i]) {
					return
				}
			}
		}
	}
}

// digest is what a message looks like to whoever reads it, in short.
func digest(m *selvage.Message) ([sha256.Size]byte, error) {
	data, err := json.Marshal(m)
	return sha256.Sum256(data), err
}

// bury begins with a tombstone: what was before it is gone.
func (f *fold) bury(c *selvage.Change) {
	f.head = commit.Head{Deleted: true, Hash: c.Hash, NextSeq: c.FirstSeq,
		Thread: selvage.Thread{ID: c.ThreadID, Version: c.Version, CreatedAt: c.At, UpdatedAt: c.At}}
}

// State implements [commit.Reader], as do the methods below.
func (f *fold) State() (state.Document, error) { return f.doc, nil }

// At answers from the changes so far.
func (f *fold) At(v selvage.Version) (commit.Past, error) {
	i := int(v - f.first)
	if v < f.first || i >= len(f.docs) {
		return commit.Past{}, fmt.Errorf("version %d is not one of the log's: %w", v, selvage.ErrGone)
	}
	return commit.Past{State: f.docs[i], NextSeq: f.next[i]}, nil
}

// KnownMessages answers from the changes so far.
func (f *fold) KnownMessages(ids []string) ([]bool, error) {
	known := make([]bool, len(ids))
	for i, id := range ids {
		known[i] = f.visible[id]
	}
	return known, nil
}

// Blobs answers that there are none: what messages refer to is not verified.
func (f *fold) Blobs(ids []selvage.Hash) ([]bool, error) { return make([]bool, len(ids)), nil }

// Delivery is not asked for what the log says.
func (f *fold) Delivery([]byte) ([]byte, error) { return nil, nil }

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
	case f.head.Horizon > f.head.Thread.Version:
		return bad("has a state, and the log has lost what it came from")
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
