package commit

import (
	"errors"
	"fmt"
	"slices"

	"github.com/selvagehq/selvage"
)

// checkRewind checks what can be checked of a rewind without its thread.
func checkRewind(set *selvage.ChangeSet) error {
	if set.Rewind == nil {
		if set.Reason == selvage.ReasonRewound {
			return invalid("reason", "a change is %q only if it rewinds; say to which version", selvage.ReasonRewound)
		}
		return nil
	}
	if *set.Rewind < 1 {
		return invalid("rewind", "%d is not a version; the first is 1", *set.Rewind)
	}
	if len(set.Messages)+len(set.Patches)+len(set.Runs)+len(set.Calls)+len(set.Outbox)+len(set.Dispatches) > 0 || set.Snapshot != nil {
		return invalid("rewind", "a rewind comes alone: only what the thread says about itself, and events, may come with it")
	}
	return nil
}

// judgeRewind takes the thread back.
func (p *Plan) judgeRewind(r *Request, h *Head, rd Reader) error {
	set := &r.Set
	if set.Rewind == nil {
		return nil
	}
	to := *set.Rewind
	switch open := h.OpenRun; {
	case !h.Exists():
		return invalid("rewind", "a thread that does not exist yet has no version %d to go back to", to)
	case open != nil:
		return invalid("rewind", "run %q is open (%s); finish or cancel it before the thread is rewound", open.ID, open.Status)
	case len(h.Rewinds) >= selvage.MaxRewinds:
		return fmt.Errorf("the thread was rewound %d times, which is as often as it can be; fork it to go on from version %d: %w",
			len(h.Rewinds), to, selvage.ErrTooLarge)
	}
	if to < h.Horizon && !r.again {
		return GoneBelow(h, to)
	}
	past, err := rd.At(to)
	p.Rewind, p.State = to, &past.State
	if r.again && errors.Is(err, selvage.ErrGone) && past.NextSeq > 0 {
		p.State, err = nil, nil // it was compacted since
	}
	if err != nil {
		return err
	}
	p.Next.Rewinds = append(slices.Clip(h.Rewinds), Rewind{At: p.Next.Thread.Version, To: to, Next: h.nextSeq(), Back: past.NextSeq})
	return nil
}

// Turned returns which messages a plan that rewinds hides and which it shows
// again. First is the seq with which the thread's life began.
func (p *Plan) Turned(h *Head, first int64) (hidden, shown []Segment) {
	before, after := h.Visible(first), p.Next.Visible(first)
	return Without(before, after), Without(after, before)
}
