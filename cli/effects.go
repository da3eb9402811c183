package cli

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
)

// undoneCall is a tool call that may have had its effect after the version that
// a thread went back to, or was forked at.
type undoneCall struct {
	CallID  string             `json:"call_id"`
	Name    string             `json:"name"`
	Status  selvage.CallStatus `json:"status"`
	Version selvage.Version    `json:"version"`           // that says so
	Unknown bool               `json:"unknown,omitempty"` // nobody knows whether it was done

	effect selvage.Effect
}

// stays reports whether the effect of a call stays, or may.
func (c *undoneCall) stays() bool {
	if c.effect != selvage.EffectOnce {
		return false
	}
	return c.Unknown || c.Status == selvage.CallSucceeded || c.Status == selvage.CallStarted
}

// update takes in what a change journals of the call; unknown if its result
// says that nobody knows whether it was done.
func (c *undoneCall) update(u *selvage.CallUpdate, at selvage.Version, unknown bool) {
	c.Status, c.Version, c.Unknown = u.Status, at, c.Unknown || unknown
	if u.Name != "" {
		c.Name = u.Name
	}
	if u.Effect != "" {
		c.effect = u.Effect
	}
	var t selvage.Ticket
	switch {
	case u.Status == selvage.CallSucceeded:
		c.Unknown = false
	case u.Suspension != nil && json.Unmarshal(u.Suspension, &t) == nil && t.Unknown:
		c.Unknown = true // also if it is denied later
	}
}

// effects are calls by id, in the order in which they were met.
type effects struct {
	calls []undoneCall
	index map[string]int
}

// effectsAfter returns the calls of once tools that may have had their effect
// between two versions.
func effectsAfter(ctx context.Context, store selvage.Store, id selvage.ThreadID, after, before selvage.Version) ([]undoneCall, error) {
	e := &effects{index: make(map[string]int)}
	unnamed := 0 // calls that were journalled first before these versions
	err := eachCallUpdate(ctx, store, id, selvage.ChangeQuery{After: after, Before: before}, func(u *selvage.CallUpdate, set *selvage.ChangeSet, at selvage.Version) bool {
		i, known := e.index[u.CallID]
		if !known {
			i = len(e.calls)
			e.index[u.CallID] = i
			e.calls = append(e.calls, undoneCall{CallID: u.CallID})
			if u.Effect == "" {
				unnamed++
			}
		}
		e.calls[i].update(u, at, saysUnknown(set, u.CallID))
		return true
	})
	if err == nil && unnamed > 0 {
		err = e.name(ctx, store, id, after, unnamed)
	}
	kept := []undoneCall{}
	for i := range e.calls {
		if e.calls[i].stays() {
			kept = append(kept, e.calls[i])
		}
	}
	return kept, err
}

// saysUnknown reports whether a change holds the result of a call that may or
// may not have been done.
func saysUnknown(set *selvage.ChangeSet, callID string) bool {
	return slices.ContainsFunc(set.Messages, func(m selvage.Message) bool {
		return m.ToolCallID == callID && string(m.Metadata[runner.MetadataUnknown]) == "true"
	})
}

// name looks up what calls are that were journalled first at a version or
// before it.
func (e *effects) name(ctx context.Context, store selvage.Store, id selvage.ThreadID, at selvage.Version, unnamed int) error {
	return eachCallUpdate(ctx, store, id, selvage.ChangeQuery{Before: at + 1, Order: selvage.Descending}, func(u *selvage.CallUpdate, _ *selvage.ChangeSet, _ selvage.Version) bool {
		if i, wanted := e.index[u.CallID]; wanted && e.calls[i].effect == "" && u.Effect != "" {
			e.calls[i].Name, e.calls[i].effect = u.Name, u.Effect
			unnamed--
		}
		return unnamed > 0
	})
}

// eachCallUpdate calls yield with what changes of a log journal of calls, until
// it says that it has seen enough.
func eachCallUpdate(ctx context.Context, store selvage.Store, id selvage.ThreadID, q selvage.ChangeQuery, yield func(*selvage.CallUpdate, *selvage.ChangeSet, selvage.Version) bool) error {
	limit := selvage.MaxPage
	q.Limit = &limit
	for {
		page, err := store.Changes(ctx, id, q)
		if err != nil {
			return err
		}
		for i := range page.Items {
			set, err := page.Items[i].Set()
			if err != nil {
				return err
			}
			for j := range set.Calls {
				if !yield(&set.Calls[j], &set, page.Items[i].Version) {
					return nil
				}
			}
		}
		if q.Cursor = page.Next; page.Next == "" {
			return nil
		}
	}
}

// effectsBeyond returns the calls of once tools that may have had their effect
// after a version, and those that may have it now, because they are open.
func effectsBeyond(ctx context.Context, store selvage.Store, id selvage.ThreadID, after selvage.Version) ([]undoneCall, error) {
	head, err := bareHead(ctx, store, id)
	if err != nil {
		return nil, err
	}
	calls, err := effectsAfter(ctx, store, id, after, head.Thread.Version+1)
	if err != nil {
		return nil, err
	}
	named := make(map[string]bool, len(calls))
	for i := range calls {
		named[calls[i].CallID] = true
	}
	for i := range head.OpenCalls {
		c := &head.OpenCalls[i]
		t, err := c.Asks()
		if err != nil {
			return nil, err
		}
		open := undoneCall{CallID: c.ID, Name: c.Name, Status: c.Status, Version: head.Thread.Version, Unknown: t != nil && t.Unknown, effect: c.Effect}
		if !named[c.ID] && open.stays() {
			calls = append(calls, open)
		}
	}
	return calls, nil
}

// warnUndone tells, also with --quiet, what going back does not take back.
func (a *app) warnUndone(calls []undoneCall) {
	for _, c := range calls {
		what := "was done"
		if c.Unknown || c.Status != selvage.CallSucceeded {
			what = "may have been done"
		}
		a.tell("not undone: %s %s at version %d (call %s)", c.Name, what, c.Version, c.CallID)
	}
}
