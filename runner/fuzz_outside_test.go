package runner_test

import (
	"context"
	"errors"
	"fmt"

	"pgregory.net/rapid"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// patient are tools whose calls wait for what comes from outside, or are done
// in steps, or know what became of them.
func (a *acts) patient() []tool.Tool {
	hold := func(context.Context, *tool.Call) error {
		return tool.Suspend(selvage.Ticket{ID: "hold", Message: "may I?"})
	}
	steps := func(ctx context.Context, c *tool.Call, _ doIn) (string, error) {
		for _, name := range []string{"first", "second"} {
			if _, err := runner.Step(ctx, name, func(context.Context) (int, error) { return 1, a.step(c.ID + name) }); err != nil {
				return "", err
			}
			a.stepped(c.ID + name)
		}
		return runner.Await[string](ctx, "go")
	}
	once := func(_ context.Context, c *tool.Call, _ doIn) (string, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.once[c.IdempotencyKey]++
		return "done", nil
	}
	again := func(context.Context, *tool.Call, doIn) (string, error) { return "done", nil }
	look := func(_ context.Context, c *tool.Call) (tool.Finding, selvage.ToolResult, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.once[c.IdempotencyKey] > 0 {
			return tool.Happened, tool.Text("done"), nil
		}
		return tool.Untouched, selvage.ToolResult{}, nil
	}
	return []tool.Tool{
		tool.New("hold", "", again, tool.Options{Effect: selvage.EffectNone, Gate: hold}),
		tool.New("steps", "", steps, tool.Options{Effect: selvage.EffectIdempotent}),
		tool.New("probe", "", once, tool.Options{Effect: selvage.EffectOnce, OnUnknown: tool.ProbeUnknown, Probe: look}),
		tool.New("retry", "", again, tool.Options{Effect: selvage.EffectOnce, OnUnknown: tool.RetryUnknown}),
	}
}

// step is a part of a call that is done, which must not have been recorded as
// done.
func (a *acts) step(key string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.steps[key] {
		a.faults = append(a.faults, fmt.Sprintf("step %s is taken again after it was recorded", key))
	}
	return nil
}

// stepped notes that a step was recorded.
func (a *acts) stepped(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.steps[key] = true
}

// signal is sent to the open run, whether or not a call waits for it.
func (m *machine) signal(draw *rapid.T) {
	if err := runner.Signal(m.t.Context(), m.store, m.open(draw).ID, "go", []byte(`"go"`)); err != nil {
		draw.Fatal(err)
	}
}

// early decides on a call that may not be there yet, or be over.
func (m *machine) early(draw *rapid.T) {
	d := selvage.Decision{Action: rapid.SampledFrom([]selvage.DecisionAction{selvage.DecisionResume, selvage.DecisionCancel, selvage.DecisionAbort}).Draw(draw, "action")}
	open := m.open(draw)
	first, err := runner.Decide(m.t.Context(), m.store, open.ID, d, "hold")
	if err != nil {
		draw.Fatalf("decision in advance: %v", err)
	}
	second, err := runner.Decide(m.t.Context(), m.store, open.ID, first.Decision, "hold")
	if err != nil || second.Decision.ID != first.Decision.ID || first.Status == runner.Recorded && second.Status != runner.Repeated {
		draw.Fatalf("%+v, and again: %+v, %v", first, second, err)
	}
}

// raise has the open run go on with more turns than it had.
func (m *machine) raise(draw *rapid.T) {
	open := m.open(draw)
	m.begin(draw)
	_, err := m.runner.Resume(m.t.Context(), open.ID, runner.ResumeOptions{Bump: []runner.Bump{{Limit: "turns", By: true, Amount: 2}}})
	m.end(draw, err)
}

// meanwhile is what others do while the model answers: in the thread, or
// another process that wants to lead the run as well.
func (m *machine) meanwhile() {
	draw := m.draw
	what := rapid.SampledFrom([]string{"nothing", "nothing", "nothing", "signal", "decide", "early", "message", "lead", "cancel"}).Draw(draw, "meanwhile")
	head, err := m.store.Load(m.t.Context(), fuzzThread, selvage.LoadOptions{})
	if err != nil {
		draw.Fatal(err)
	}
	if head.OpenRun == nil {
		return // its end was recorded, and nobody told the process
	}
	switch what {
	case "signal":
		m.signal(draw)
	case "early":
		m.early(draw)
	case "cancel":
		m.cancel(draw)
	case "message":
		_, err = m.store.Append(m.t.Context(), fuzzThread, selvage.ChangeSet{Messages: []selvage.Message{selvage.UserText("meanwhile")}}, selvage.Any())
	case "decide":
		if questions, _ := runner.Questions(m.t.Context(), m.store, head.OpenRun.ID); len(questions) > 0 {
			m.decide(draw)
		}
	case "lead":
		var other *runner.Runner
		if other, err = runner.New(runner.Options{Store: m.store, Model: &moody{draw: draw}, Tools: m.acts.tools(), ToolCalls: m.mode, OnActive: runner.Reject}); err == nil {
			if _, led := other.Resume(m.t.Context(), head.OpenRun.ID, runner.ResumeOptions{}); !errors.Is(led, selvage.ErrBusy) {
				err = fmt.Errorf("two processes lead run %s: %w", head.OpenRun.ID, led)
			}
		}
	}
	if err != nil {
		draw.Fatal(err)
	}
}
