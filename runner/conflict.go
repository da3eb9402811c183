package runner

import (
	"context"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// IncompatibleError reports a change by somebody else that a run cannot go on
// after. It matches [selvage.ErrConflict].
type IncompatibleError struct {
	ThreadID selvage.ThreadID
	Version  selvage.Version // of that change
	Reason   string

	over bool // nothing of the run can be recorded after that change
}

func (e *IncompatibleError) Error() string {
	return fmt.Sprintf("version %d of thread %q, made by somebody else, contradicts the run: %s", e.Version, e.ThreadID, e.Reason)
}

// Is reports whether target is [selvage.ErrConflict].
func (e *IncompatibleError) Is(target error) bool { return target == selvage.ErrConflict }

// absorb takes in what others have appended since the last checkpoint. If all
// of it is compatible, the pending delta applies on top of it. If not, what
// can no longer be recorded has left the delta, and the error says why.
func (x *run) absorb(ctx context.Context) error {
	var contradiction *IncompatibleError
	limit := selvage.MaxPage
	for query := (selvage.ChangeQuery{After: x.version, Limit: &limit}); ; {
		page, err := x.store.Changes(ctx, x.thread, query)
		if err != nil {
			return fmt.Errorf("read what others appended: %w", err)
		}
		for i := range page.Items {
			found, err := x.take(&page.Items[i])
			if err != nil {
				return err
			}
			if contradiction == nil {
				contradiction = found
			}
		}
		if page.Next == "" {
			break
		}
		query.Cursor = page.Next
	}
	if contradiction != nil && contradiction.over {
		return contradiction
	}
	doc, err := x.pending.ops().Apply(x.base)
	if err != nil && contradiction == nil {
		contradiction = &IncompatibleError{ThreadID: x.thread, Version: x.version, Reason: err.Error()}
	}
	if contradiction != nil {
		// What was said and done stays true; what it was to change does not.
		x.pending.patches, doc = nil, x.base
		x.confess(contradiction.Reason)
	}
	x.doc = doc
	if contradiction != nil {
		return contradiction
	}
	return nil
}

// confess has the results that are to be recorded say that what their calls
// changed in the state is not. Such a call has failed, though it ran.
func (x *run) confess(reason string) {
	for _, id := range x.pending.changing {
		for i := range x.pending.messages {
			m := &x.pending.messages[i]
			if m.Role != selvage.RoleTool || m.ToolCallID != id {
				continue
			}
			note := selvage.Text(fmt.Sprintf("It ran, but its changes to the state contradict what somebody else has recorded meanwhile (%s). None of them was made. Its result was:\n", clipped(reason, salvagedBytes)))
			m.Content = append(note, m.Content...)
			mark(m, MetadataFailed, true)
			x.pending.bytes += len(note[0].Text)
		}
		for i := range x.pending.calls {
			if u := &x.pending.calls[i]; u.CallID == id && u.Status == selvage.CallSucceeded {
				u.Status = selvage.CallFailed
			}
		}
	}
	x.pending.changing = nil
}

// take moves the ledger past one change of the log and says if it contradicts
// what is pending.
func (x *run) take(c *selvage.Change) (*IncompatibleError, error) {
	set, err := c.Set()
	if err != nil {
		return nil, err
	}
	added, err := c.AddedMessages()
	if err != nil {
		return nil, err
	}
	var found *IncompatibleError
	if x.own(c) {
		x.held = append(x.held, committed(x.thread, x.step, &set, added, &selvage.Receipt{Version: c.Version, At: c.At})...)
	} else {
		found = x.contradiction(c, &set)
		x.outdone(&set)
	}
	if set.Rewind == nil { // after a rewind the run is over
		if x.base, err = c.ApplyState(x.base); err != nil {
			return nil, err
		}
	}
	x.version = c.Version
	x.belong(set.Thread)
	x.note(&set, c.At)
	x.remember(added)
	return found, nil
}

// own reports whether a change is one that the run gave up on without knowing
// its outcome, and forgets what it recorded.
func (x *run) own(c *selvage.Change) bool {
	for _, a := range x.unsure {
		if a.changeID == c.ID {
			x.pending.drop(a)
			x.unsure = nil
			return true
		}
	}
	return false
}

// contradiction finds in what way a change contradicts the run.
func (x *run) contradiction(c *selvage.Change, set *selvage.ChangeSet) *IncompatibleError {
	found := &IncompatibleError{ThreadID: x.thread, Version: c.Version}
	if set.Rewind != nil {
		// A store rewinds no thread with an open run, so the run is not ours
		// to end any more.
		found.Reason, found.over = fmt.Sprintf("it rewound the thread to version %d", *set.Rewind), true
		return found
	}
	for i := range set.Runs {
		if u := &set.Runs[i]; u.ID == x.id {
			found.Reason, found.over = fmt.Sprintf("it made the run %s", u.Status), u.Status == selvage.RunDone
			return found
		}
	}
	ours := x.pending.ops()
	if set.Snapshot != nil && len(ours) > 0 {
		found.Reason = "it replaced the state"
		return found
	}
	var theirs state.Patch
	for _, p := range set.Patches {
		theirs = append(theirs, p.Ops...)
	}
	conflict, contradicts := state.Conflicts(theirs, ours)
	if !contradicts {
		return nil
	}
	found.Reason = conflict.String()
	return found
}
