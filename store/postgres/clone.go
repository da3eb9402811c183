package postgres

import (
	"maps"
	"slices"

	"github.com/selvagehq/selvage"
)

// What is remembered is handed out in copies that share nothing that may be
// modified. Raw JSON is read-only to everybody and is shared.

func cloneThread(t selvage.Thread) selvage.Thread {
	t.Metadata = maps.Clone(t.Metadata)
	t.ForkedFrom = clonePointer(t.ForkedFrom)
	return t
}

// cloneRun copies a run as heads remember it, without its spec.
func cloneRun(r selvage.Run) selvage.Run {
	r.Spec, r.Outcome = nil, clonePointer(r.Outcome)
	if r.Waiting = clonePointer(r.Waiting); r.Waiting != nil {
		r.Waiting.Tickets, r.Waiting.Until = slices.Clone(r.Waiting.Tickets), clonePointer(r.Waiting.Until)
	}
	if r.Limits != nil {
		limits := r.Limits.Clone()
		r.Limits = &limits
	}
	return r
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
