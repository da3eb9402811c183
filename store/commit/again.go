package commit

import (
	"fmt"
	"slices"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// Again judges a change of the log once more, after the head that the changes
// before it add up to, and returns the plan it was appended by. It is how
// views are proved, or rebuilt, from the log alone. Whoever appended it held
// the fence and the precondition then, so neither is asked again. Of a change
// whose patches or snapshot were compacted the plan has no state, unless the
// document after it was kept. The error matches [selvage.ErrCorrupt] if the change could not have been appended
// there, or says something else than it must: the log was tampered with. The
// plan makes no deliveries due: they are looked after where they were asked for.
func Again(h *Head, c *selvage.Change, rd Reader) (*Plan, error) {
	if err := c.VerifyContent(); err != nil {
		return nil, err
	}
	set, err := c.Set()
	if err != nil {
		return nil, err
	}
	corrupt := func(format string, args ...any) (*Plan, error) {
		return nil, &selvage.CorruptError{Thread: c.ThreadID, Version: c.Version, Reason: fmt.Sprintf(format, args...)}
	}
	r := &Request{ThreadID: c.ThreadID, Set: set, Pre: selvage.Any(), Content: c.Content, again: true,
		Body: &selvage.Body{Messages: c.Messages, Rest: c.Rest}}
	if c.Reason == selvage.ReasonForked {
		r.copied, r.firstSeq = true, c.FirstSeq
	}
	switch {
	case h.Deleted:
		r.Pre = selvage.Recreate()
	case !h.Exists():
		r.Pre = selvage.New()
	}
	p, err := r.Judge(h, rd, c.At)
	if err != nil {
		return corrupt("it could not have been appended: %v", err)
	}
	switch is := &p.Change; {
	case is.Version != c.Version:
		return corrupt("it follows version %d", h.Thread.Version)
	case is.FirstSeq != c.FirstSeq || is.Added != c.Added || !slices.Equal(is.Dropped, c.Dropped):
		return corrupt("it says it added %d messages from seq %d without %v, and it added %d from %d without %v",
			c.Added, c.FirstSeq, c.Dropped, is.Added, is.FirstSeq, is.Dropped)
	case is.Hash != c.Hash:
		return corrupt("its hash does not follow")
	}
	p.Change.Salt, p.Change.Parts, p.Change.Base = c.Salt, c.Parts, c.Base
	if c.StateGone() {
		p.Receipt.Events++ // the event of its state, of which the set says nothing any more
	}
	return p, p.lose(h, c)
}

// lose takes into account what compaction took away from a change. From the
// first one that lost its state to the one with which a document is kept, the
// state is not known, and the horizon lies ahead of the thread.
func (p *Plan) lose(h *Head, c *selvage.Change) error {
	switch {
	case c.Base != nil:
		doc, err := c.ApplyState(state.Document{})
		if err != nil {
			return err
		}
		p.State = &doc
		if c.StateGone() {
			p.Next.Horizon = c.Version
		}
	case c.StateGone() || h.Horizon > h.Thread.Version:
		p.Next.Horizon = c.Version + 1
	}
	return nil
}
