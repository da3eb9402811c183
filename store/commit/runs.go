package commit

import (
	"slices"

	"github.com/selvagehq/selvage"
)

// judgeRuns moves runs on. At most one run of a thread is open at a time.
func (p *Plan) judgeRuns(r *Request, h *Head, rd Reader) error {
	at := p.Next.Thread.UpdatedAt
	for i := range r.Set.Runs {
		u := &r.Set.Runs[i]
		current, err := p.currentRun(u.ID, rd)
		if err != nil {
			return err
		}
		if current != nil && current.ThreadID != r.ThreadID {
			return invalid("runs", "run %q belongs to thread %q", u.ID, current.ThreadID)
		}
		run, err := u.Apply(current, r.ThreadID, at)
		if err != nil {
			return err
		}
		if err := p.placeRun(run, current == nil); err != nil {
			return err
		}
	}
	return nil
}

// currentRun finds a run as the plan has it so far.
func (p *Plan) currentRun(id selvage.RunID, rd Reader) (*selvage.Run, error) {
	if i := p.plannedRun(id); i >= 0 {
		return &p.Runs[i], nil
	}
	if p.Next.OpenRun != nil && p.Next.OpenRun.ID == id {
		return p.Next.OpenRun, nil
	}
	return rd.Run(id)
}

func (p *Plan) plannedRun(id selvage.RunID) int {
	return slices.IndexFunc(p.Runs, func(r selvage.Run) bool { return r.ID == id })
}

// placeRun puts a run into the plan and its projection into the head.
func (p *Plan) placeRun(run *selvage.Run, created bool) error {
	open := p.Next.OpenRun
	if run.Status.Open() && open != nil && open.ID != run.ID {
		return invalid("runs", "thread %q already has an open run, %q (%s); a thread has at most one", run.ThreadID, open.ID, open.Status)
	}
	if i := p.plannedRun(run.ID); i >= 0 {
		p.Runs[i] = *run
	} else {
		p.Runs = append(p.Runs, *run)
	}
	t := &p.Next.Thread
	if created {
		t.LatestRunID = run.ID
	}
	switch {
	case run.Status.Open():
		p.Next.OpenRun, t.OpenRunID, t.ActiveRunID = run, run.ID, ""
		if run.Status == selvage.RunRunning {
			t.ActiveRunID = run.ID
		}
	case open != nil && open.ID == run.ID:
		p.Next.OpenRun, t.OpenRunID, t.ActiveRunID = nil, "", ""
	}
	return nil
}

// judgeCalls moves journalled tool calls on.
func (p *Plan) judgeCalls(r *Request, h *Head, rd Reader) error {
	if len(r.Set.Calls) == 0 {
		return nil
	}
	p.Next.OpenCalls = slices.Clone(h.OpenCalls)
	if !h.Exists() {
		p.Next.OpenCalls = nil
	}
	for i := range r.Set.Calls {
		u := &r.Set.Calls[i]
		current, err := p.currentCall(u.CallID, h, rd)
		if err != nil {
			return err
		}
		call, err := u.Apply(current, r.ThreadID, r.Set.RunID, p.Next.Thread.UpdatedAt)
		if err != nil {
			return err
		}
		p.placeCall(call)
	}
	if len(p.Next.OpenCalls) == 0 {
		p.Next.OpenCalls = nil // none is none, however it came to that
	}
	return nil
}

func (p *Plan) plannedCall(id string) int {
	return slices.IndexFunc(p.Calls, func(c selvage.Call) bool { return c.ID == id })
}

func (p *Plan) currentCall(id string, h *Head, rd Reader) (*selvage.Call, error) {
	if i := p.plannedCall(id); i >= 0 {
		return &p.Calls[i], nil
	}
	if i := p.Next.openCall(id); i >= 0 {
		return &p.Next.OpenCalls[i], nil
	}
	if !h.Exists() {
		return nil, nil
	}
	return rd.Call(id)
}

func (p *Plan) placeCall(call *selvage.Call) {
	if i := p.plannedCall(call.ID); i >= 0 {
		p.Calls[i] = *call
	} else {
		p.Calls = append(p.Calls, *call)
	}
	i := p.Next.openCall(call.ID)
	switch {
	case call.Status.Terminal() && i >= 0:
		p.Next.OpenCalls = slices.Delete(p.Next.OpenCalls, i, i+1)
	case call.Status.Terminal():
	case i >= 0:
		p.Next.OpenCalls[i] = *call
	default:
		p.Next.OpenCalls = append(p.Next.OpenCalls, *call)
	}
}
