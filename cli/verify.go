package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/selvagehq/selvage"
)

// proof is what the changes of a thread add up to, worked out from nothing but
// their bytes.
type proof struct {
	id       selvage.ThreadID
	version  selvage.Version
	hash     selvage.Hash
	fold     *fold
	changes  int
	compared int64 // messages

	erased    erasures
	beyond    selvage.Version // as far as the log was asked for erasures
	compacted int             // changes
}

// verifyThread proves that a thread is what its log says: each change follows
// the one before it, holds the bytes that were appended and could have been
// appended there, and thread, state, messages and runs are what the log adds up
// to. What is appended meanwhile is left out. The error matches
// [selvage.ErrCorrupt] and names the first version that is wrong.
func verifyThread(ctx context.Context, store selvage.Store, id selvage.ThreadID) (*proof, error) {
	for {
		p, since, err := verifyOnce(ctx, store, id)
		if err == nil || !disturbed(ctx, store, id, since, err) {
			return p, err
		}
	}
}

// verifyOnce also returns the version up to which it proved the thread.
func verifyOnce(ctx context.Context, store selvage.Store, id selvage.ThreadID) (*proof, selvage.Version, error) {
	head, err := headOf(ctx, store, id)
	if err != nil {
		return nil, 0, err
	}
	p, err := verifyUpTo(ctx, store, head)
	return p, head.Thread.Version, err
}

// headOf loads a thread that is to be verified.
func headOf(ctx context.Context, store selvage.Store, id selvage.ThreadID) (*selvage.Head, error) {
	none := 0
	head, err := store.Load(ctx, id, selvage.LoadOptions{Messages: &none})
	if errors.Is(err, selvage.ErrCorrupt) {
		return nil, provenOtherwise(ctx, store, id, err)
	}
	return &head, err
}

// verifyUpTo proves a thread as it was when its head was loaded.
func verifyUpTo(ctx context.Context, store selvage.Store, head *selvage.Head) (*proof, error) {
	id := head.Thread.ID
	p := &proof{id: id, fold: newFold()}
	for change, err := range changesUpTo(ctx, store, id, head.Thread.Version) {
		if err == nil {
			err = p.take(&change)
		}
		if err != nil {
			return nil, p.at(p.version+1, err)
		}
	}
	if err := p.settle(ctx, store); err != nil {
		return nil, err
	}
	// What differs in the messages counts only now: damage in the log shows in
	// them too.
	if err := p.compare(ctx, store); err != nil {
		return nil, err
	}
	if err := p.meets(ctx, store, head); err != nil {
		return nil, p.at(head.Thread.Version, err)
	}
	return p, nil
}

// provenOtherwise finds the version that is wrong in a thread whose head cannot
// be read for err, which it returns if the log tells nothing.
func provenOtherwise(ctx context.Context, store selvage.Store, id selvage.ThreadID, err error) error {
	p := &proof{id: id, fold: newFold()}
	for change, wrong := range changesUpTo(ctx, store, id, endUnknown) {
		if wrong == nil {
			wrong = p.take(&change)
		}
		if wrong != nil {
			return p.at(p.version+1, wrong)
		}
	}
	return p.at(0, err)
}

// endUnknown stands for the version of a thread that does not tell its own.
const endUnknown selvage.Version = math.MaxInt64 - 1

// changesAfter goes through what was appended after a version.
func changesAfter(ctx context.Context, store selvage.Store, id selvage.ThreadID, v selvage.Version) iter.Seq2[selvage.Change, error] {
	return func(yield func(selvage.Change, error) bool) {
		limit := selvage.MaxPage
		q := selvage.ChangeQuery{After: v, Limit: &limit}
		for {
			page, err := store.Changes(ctx, id, q)
			if err != nil {
				yield(selvage.Change{}, err)
				return
			}
			for _, change := range page.Items {
				if !yield(change, nil) {
					return
				}
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				return
			}
		}
	}
}

// changesUpTo goes through the log. What cannot be read as a page is read
// again change by change, so that everything before the damage is still seen.
func changesUpTo(ctx context.Context, store selvage.Store, id selvage.ThreadID, last selvage.Version) iter.Seq2[selvage.Change, error] {
	return func(yield func(selvage.Change, error) bool) {
		limit := selvage.MaxPage
		q := selvage.ChangeQuery{Before: last + 1, Limit: &limit}
		for {
			page, err := store.Changes(ctx, id, q)
			if errors.Is(err, selvage.ErrCorrupt) && limit > 1 {
				limit = 1
				q.Before = q.After + 2 // a store may read one ahead
				continue
			}
			if err != nil {
				yield(selvage.Change{}, err)
				return
			}
			for _, change := range page.Items {
				q.After = change.Version
				if !yield(change, nil) {
					return
				}
			}
			switch {
			case limit == 1 && q.Before <= last && (len(page.Items) > 0 || last != endUnknown):
				q.After, q.Before = q.Before-1, q.Before+1
			case page.Next == "" || len(page.Items) == 0:
				return
			}
		}
	}
}

// storedMessages goes through the messages that were visible at a version.
func storedMessages(ctx context.Context, store selvage.Store, id selvage.ThreadID, at selvage.Version) iter.Seq2[selvage.Message, error] {
	return func(yield func(selvage.Message, error) bool) {
		limit := selvage.MaxPage
		q := selvage.MessageQuery{At: at, Visibility: selvage.ShowAll, Limit: &limit}
		for {
			page, err := store.Messages(ctx, id, q)
			if err != nil {
				yield(selvage.Message{}, err)
				return
			}
			for _, m := range page.Items {
				if !yield(m, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			q.Cursor = page.Next
		}
	}
}

// take adds the next change to the proof.
func (p *proof) take(c *selvage.Change) error {
	// A thread that was deleted and made again: its log begins with the
	// tombstone, whose predecessors are gone.
	tombstone := p.changes == 0 && c.Version > 1 && c.Reason == selvage.ReasonDeleted
	switch {
	case tombstone:
		p.version, p.hash = c.Version-1, c.Prev
	case c.Version != p.version+1:
		return p.wrong(p.version+1, "it is missing, version %d follows", c.Version)
	}
	if err := c.Verify(p.hash); err != nil {
		return err
	}
	if tombstone {
		p.fold.bury(c)
	} else if err := p.fold.take(c); err != nil {
		return err
	}
	if err := p.erased.take(c); err != nil {
		return err
	}
	if c.StateGone() {
		p.compacted++
	}
	p.version, p.hash = c.Version, c.Hash
	p.changes++
	return nil
}

// compare holds the messages that the store serves against those of the log
// that can be seen.
func (p *proof) compare(ctx context.Context, store selvage.Store) error {
	served, stop := iter.Pull2(storedMessages(ctx, store, p.id, p.version))
	defer stop()
	for want := range p.fold.said(p.fold.head.Visible(1)) {
		if err := p.at(want.version, p.compareOne(want, served)); err != nil {
			return err
		}
		p.compared++
	}
	if _, err, more := served(); err != nil || more {
		return p.at(p.version, errors.Join(err, p.wrong(p.version, "messages are served that are not in the log")))
	}
	return nil
}

func (p *proof) compareOne(want *heard, served func() (selvage.Message, error, bool)) error {
	got, err, ok := served()
	switch {
	case err != nil:
		return err
	case !ok:
		return p.wrong(want.version, "message %d is in the log and is not served", want.seq)
	}
	if same, err := digest(&got); err != nil || same != want.digest {
		return errors.Join(err, p.wrong(want.version, "message %d is served otherwise than the log has it", want.seq))
	}
	return nil
}

// meets holds what the store serves besides changes against the fold.
func (p *proof) meets(ctx context.Context, store selvage.Store, head *selvage.Head) error {
	if err := p.fold.meets(head); err != nil {
		return err
	}
	return p.fold.meetsRuns(ctx, store)
}

// wrong is an error about a version.
func (p *proof) wrong(v selvage.Version, format string, args ...any) error {
	return &selvage.CorruptError{Thread: p.id, Version: v, Reason: fmt.Sprintf(format, args...)}
}

// at says which version an error is about: the one it names itself, else v.
// What says nothing about damage stays as it is.
func (p *proof) at(v selvage.Version, err error) error {
	if !errors.Is(err, selvage.ErrCorrupt) {
		return err
	}
	why := err.Error()
	var known *selvage.CorruptError
	if errors.As(err, &known) {
		v, why = known.Version, known.Reason
	}
	if v == 0 {
		return classify(err)
	}
	f := classify(&retold{err: err, text: fmt.Sprintf("thread %q is damaged at version %d: %s", p.id, v, why)})
	f.details = map[string]any{"thread": p.id, "version": v}
	f.hint = "what was appended before that version is whole; keep a copy of the store"
	return f
}

// retold tells an error of a store in one sentence.
type retold struct {
	err  error
	text string
}

func (r *retold) Error() string { return r.text }

func (r *retold) Unwrap() error { return r.err }
