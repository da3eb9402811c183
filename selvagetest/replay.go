package selvagetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/fixture"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/store/inmem"
	"github.com/selvagehq/selvage/tool"
)

// Replay leads the runs of a thread once more that was exported with
//
//	selvage thread export ID --format fixture > thread.json
//
// and fails the test for whatever comes out otherwise: the outcome of a run, an
// answer, what a call came to, the state. The model gives the recorded answers,
// and tools give the recorded results, those excepted that opts has: they run,
// as they are today. What else opts has (hooks, specs of the state, a system
// prompt, a model) takes the place of what was recorded. Everything happens in
// memory. It returns the differences too.
func Replay(t testing.TB, file string, opts runner.Options) []fixture.Difference {
	t.Helper()
	f, err := open(file)
	if err != nil {
		t.Fatalf("selvagetest: %v", err)
	}
	differences, err := replay(t.Context(), f, opts)
	if err != nil {
		t.Fatalf("selvagetest: %v", err)
	}
	for _, d := range differences {
		t.Error(d)
	}
	return differences
}

func open(file string) (*fixture.Fixture, error) {
	r, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // it was only read
	return fixture.Read(r)
}

// replay leads all runs of a fixture again.
func replay(ctx context.Context, f *fixture.Fixture, opts runner.Options) ([]fixture.Difference, error) {
	store := inmem.New(inmem.Options{})
	defer func() { _ = store.Close() }() // it forgets
	doc := f.State
	thread := &selvage.ThreadUpdate{}
	if f.UserID != "" {
		thread.UserID = &f.UserID
	}
	if _, err := store.Append(ctx, f.ThreadID, selvage.ChangeSet{Messages: bare(f.Messages), Snapshot: &doc, Thread: thread}, selvage.New()); err != nil {
		return nil, err
	}
	for i := range f.Runs {
		if err := again(ctx, store, f.ThreadID, &f.Runs[i], opts); err != nil {
			return nil, fmt.Errorf("run %s: %w", f.Runs[i].ID, err)
		}
	}
	now, err := fixture.Record(ctx, store, f.ThreadID)
	if err != nil {
		return nil, err
	}
	var all []fixture.Difference
	for i := range f.Runs {
		all = append(all, fixture.Compare(&f.Runs[i], &now.Runs[i])...)
	}
	return all, nil
}

// again leads one run again.
func again(ctx context.Context, store selvage.Store, id selvage.ThreadID, run *fixture.Run, opts runner.Options) error {
	for _, m := range run.Before {
		if _, err := store.Append(ctx, id, selvage.ChangeSet{Messages: bare(m.Messages), Patches: m.Patches, Snapshot: m.Snapshot}, selvage.Any()); err != nil {
			return fmt.Errorf("what others did before it: %w", err)
		}
	}
	leading, interrupt := context.WithCancel(ctx)
	defer interrupt()
	steer := func(ctx context.Context, said []selvage.Message) error {
		_, err := store.Append(ctx, id, selvage.ChangeSet{Messages: bare(said), Reason: selvage.ReasonUserMessage}, selvage.Any())
		return err
	}
	r, err := playing(store, run, opts, interrupt, steer)
	if err != nil {
		return err
	}
	result, err := r.Run(leading, id, runner.Input{RunID: run.ID, Messages: bare(run.Input), State: run.State})
	for i := range run.Answers {
		if said := run.Answers[i].During; opts.Model != nil && len(said) > 0 { // another model gives other answers
			err = errors.Join(err, steer(ctx, said))
		}
	}
	for err == nil && result.Waiting != nil && run.Outcome != nil && run.Outcome.Code != runner.CodeSuperseded {
		// It waited then too, and went on or was ended.
		var over bool
		if over, err = decide(ctx, store, run); err != nil || over {
			break
		}
		result, err = r.Resume(leading, run.ID, runner.ResumeOptions{})
	}
	var ended *runner.FailedError
	if errors.As(err, &ended) || leading.Err() != nil && ctx.Err() == nil {
		return nil // that is told as a difference, if it is one
	}
	return err
}

// decide has somebody decide on the call whose result was there first, as it
// was decided then. Where a tool ran it is approved: its result is recorded.
func decide(ctx context.Context, store selvage.Store, run *fixture.Run) (over bool, err error) {
	questions, err := runner.Questions(ctx, store, run.ID)
	if err != nil {
		return false, err
	}
	if len(questions) == 0 {
		return false, errors.New("it waits for something that no decision ends")
	}
	next := questions[0]
	for _, q := range questions[1:] {
		if run.Waits(&q.Ticket) < run.Waits(&next.Ticket) {
			next = q
		}
	}
	d := selvage.Decision{Action: selvage.DecisionResume, By: "selvagetest"}
	if at := run.Waits(&next.Ticket); at >= 0 && run.Calls[at].Left == selvage.CallSuspended {
		ended := deniedOf(run)
		if ended == nil {
			_, err = runner.Cancel(ctx, store, run.ID, run.Outcome.Detail)
			return true, err
		}
		for _, q := range questions {
			if i := run.Waits(&q.Ticket); i >= 0 && run.Calls[i].ID == ended.ID {
				next = q
			}
		}
		d.Action, d.Reason, d.By, over = ended.Decision.Action, ended.Decision.Reason, ended.Decision.By, true
	}
	_, err = runner.Decide(ctx, store, run.ID, d, next.Ticket.ID)
	return over, err
}

// deniedOf is the call with whose denial a run ended, or nil.
func deniedOf(run *fixture.Run) *fixture.Call {
	for i := range run.Calls {
		if c := &run.Calls[i]; c.Left == selvage.CallSuspended && c.Decision != nil {
			return c
		}
	}
	return nil
}

// playing makes the runner of a recorded run.
func playing(store selvage.Store, run *fixture.Run, opts runner.Options, interrupt func(), steer func(context.Context, []selvage.Message) error) (*runner.Runner, error) {
	player := fixture.NewPlayer(run)
	player.Interrupt, player.Steer, player.Waits = interrupt, steer, true
	opts.Store, opts.AgentID = store, run.AgentID
	if opts.Model == nil {
		opts.Model, opts.Retry.Attempts = player, 1
	}
	spec := run.Spec
	if spec == nil {
		spec = &selvage.RunSpec{}
	}
	if opts.System == "" {
		opts.System = spec.System
	}
	if opts.ToolCalls == "" {
		opts.ToolCalls = spec.ToolCalls
	}
	opts.Limits, opts.MaxTurns = spec.Limits, -1
	if run.Limits != nil {
		opts.Limits = *run.Limits
	}
	if spec.Stop != nil {
		opts.Stop = *spec.Stop
	}
	for _, use := range spec.Tools {
		if !has(opts.Tools, use.Name) {
			opts.Tools = append(opts.Tools[:len(opts.Tools):len(opts.Tools)], player.Stub(selvage.ToolSpec{Name: use.Name, Effect: use.Effect, OnUnknown: tool.FailUnknown}, nil))
		}
	}
	return runner.New(opts)
}

func has(tools []tool.Tool, name string) bool {
	for _, t := range tools {
		if t.Spec().Name == name {
			return true
		}
	}
	return false
}

// bare returns messages as they are appended: what the store gives is left out.
func bare(messages []selvage.Message) []selvage.Message {
	out := make([]selvage.Message, len(messages))
	for i, m := range messages {
		m.Seq, m.RunID = 0, ""
		out[i] = m
	}
	return out
}
