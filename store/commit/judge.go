package commit

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// Judge decides whether the request may follow h, and what it writes if so.
// The caller has already found that the log does not hold the change-set id.
// Neither h nor the request is modified, so that a request can be judged
// again. Errors are those of [selvage.Store.Append], or the reader's own.
func (r *Request) Judge(h *Head, rd Reader, now time.Time) (*Plan, error) {
	if err := r.admit(h); err != nil {
		return nil, err
	}
	if r.shape != nil {
		return nil, r.shape
	}
	p := &Plan{Next: next(h, r.ThreadID, stamp(now))}
	if err := p.judgeRuns(r, h, rd); err != nil {
		return nil, err
	}
	if err := p.judgeCalls(r, h, rd); err != nil {
		return nil, err
	}
	if err := p.judgeRewind(r, h, rd); err != nil {
		return nil, err
	}
	if err := p.judgeState(&r.Set, rd); err != nil {
		return nil, err
	}
	if err := p.judgeThread(&r.Set, h, rd); err != nil {
		return nil, err
	}
	if err := p.judgeMessages(r, h, rd); err != nil {
		return nil, err
	}
	if err := p.judgeBlobs(r, rd); err != nil {
		return nil, err
	}
	if !r.again { // what the log asked for was delivered, or is looked after where it was appended
		if err := p.judgeOutbox(&r.Set, rd); err != nil {
			return nil, err
		}
	}
	if r.Set.Fork != nil {
		origin := r.Set.Fork.Origin
		p.Next.Thread.ForkedFrom = &origin
	}
	p.seal(r, h)
	return p, nil
}

// admit checks tombstone, fence and precondition, in that order.
func (r *Request) admit(h *Head) error {
	want, exact := r.Pre.Version()
	switch {
	case h.Deleted && r.Pre.IsNew():
		return fmt.Errorf("thread %q existed and was deleted at version %d: %w", r.ThreadID, h.Thread.Version, selvage.ErrAlreadyExists)
	case h.Deleted && !r.Pre.IsRecreate():
		return fmt.Errorf("thread %q was deleted at version %d: %w", r.ThreadID, h.Thread.Version, selvage.ErrGone)
	}
	if f := r.Set.Fence; f != nil && f.Epoch != h.Epoch {
		return &selvage.FencedError{Thread: r.ThreadID, Held: f.Epoch, Actual: h.Epoch}
	}
	switch {
	case r.Pre.IsRecreate() && h.Deleted:
		return nil
	case r.Pre.IsRecreate() && !h.Exists():
		return fmt.Errorf("thread %q was never deleted; create it instead: %w", r.ThreadID, selvage.ErrNotFound)
	case r.Pre.IsRecreate() || r.Pre.IsNew() && h.Exists():
		return fmt.Errorf("thread %q exists at version %d: %w", r.ThreadID, h.Thread.Version, selvage.ErrAlreadyExists)
	case r.Pre.IsNew():
		return nil
	case !h.Exists():
		return fmt.Errorf("thread %q: %w", r.ThreadID, selvage.ErrNotFound)
	case exact && want != h.Thread.Version:
		return &selvage.ConflictError{Thread: r.ThreadID, Expected: want, Actual: h.Thread.Version}
	}
	return nil
}

// next is the head of the version after h, before the set has touched it.
func next(h *Head, id selvage.ThreadID, at time.Time) Head {
	n := *h
	if !h.Exists() {
		// A recreated thread keeps what must never repeat and nothing else.
		n = Head{Epoch: h.Epoch, NextSeq: h.NextSeq, Hash: h.Hash,
			Thread: selvage.Thread{ID: id, Tenant: h.Thread.Tenant, Version: h.Thread.Version, CreatedAt: at}}
	}
	n.Thread.Version++
	n.Thread.UpdatedAt = at
	n.NextSeq = h.nextSeq()
	return n
}

// judgeState applies snapshot and patches. What does not apply is refused, so
// that a thread can always be loaded.
func (p *Plan) judgeState(set *selvage.ChangeSet, rd Reader) error {
	if set.Snapshot != nil {
		p.State = set.Snapshot
		return nil
	}
	if len(set.Patches) == 0 {
		return nil
	}
	doc := state.Document{}
	if p.Next.Thread.Version > 1 {
		var err error
		if doc, err = rd.State(); err != nil {
			return err
		}
	}
	for i, patch := range set.Patches {
		var err error
		if doc, err = patch.Ops.Apply(doc); err != nil {
			reason := err.Error()
			var op *state.OpError
			if errors.As(err, &op) && patch.Source != "" {
				reason += " (from " + patch.Source + ")"
			}
			return invalid(fmt.Sprintf("patches[%d]", i), "%s", reason)
		}
	}
	p.State = &doc
	return nil
}

// judgeMessages drops the messages that are already there and counts the rest.
func (p *Plan) judgeMessages(r *Request, h *Head, rd Reader) error {
	c := &p.Change
	if r.copied {
		if err := p.skipTo(r.firstSeq, h); err != nil {
			return err
		}
	}
	c.FirstSeq = p.Next.NextSeq
	if len(r.Set.Messages) == 0 {
		return nil
	}
	given := make([]string, 0, len(r.Set.Messages))
	for i := range r.Set.Messages {
		if id := r.Set.Messages[i].ID; id != "" {
			given = append(given, id)
		}
	}
	var known []bool
	if len(given) > 0 && h.Exists() && !r.copied {
		var err error
		if known, err = rd.KnownMessages(given); err != nil {
			return err
		}
	}
	duplicate := make(map[string]bool, len(given))
	for i, k := range known {
		if k {
			duplicate[given[i]] = true
		}
	}
	p.MessageIDs = make([]string, 0, len(r.Set.Messages))
	for i := range r.Set.Messages {
		id := r.Set.Messages[i].ID
		switch {
		case id == "":
			id = selvage.MessageID(r.Set.ID, i, p.Next.Thread.UpdatedAt)
		case duplicate[id]:
			c.Dropped = append(c.Dropped, i)
			continue
		default:
			duplicate[id] = true
		}
		p.MessageIDs = append(p.MessageIDs, id)
	}
	c.Added = len(p.MessageIDs)
	p.Next.NextSeq += int64(c.Added)
	return nil
}

// seal completes the change and its receipt.
func (p *Plan) seal(r *Request, h *Head) {
	c := &p.Change
	c.ThreadID, c.Version, c.At = r.ThreadID, p.Next.Thread.Version, p.Next.Thread.UpdatedAt
	c.ID, c.RunID, c.ParentRunID, c.Reason = r.Set.ID, r.Set.RunID, r.Set.ParentRunID, r.Set.Reason
	c.Content, c.Prev = r.Content, h.Hash
	c.Hash = selvage.ChainHash(c.Prev, c.Version, c.FirstSeq, c.At, c.Content)
	c.Salt, c.Messages, c.Rest = r.Body.Salt[:], r.Body.Messages, r.Body.Rest
	p.Next.Hash = c.Hash
	p.Blobs = slices.DeleteFunc(blobsOf(r.Set.Messages, c.Dropped), func(id selvage.Hash) bool { return slices.Contains(p.absent, id) })
	p.Receipt = receiptOf(c, &r.Set)
}
