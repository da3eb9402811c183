package selvagetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/store/sqlite"
	"github.com/selvagehq/selvage/tool"
)

// childEnv tells the test binary that it is the process of an agent: what
// [order] it has, as JSON.
const childEnv = "SELVAGETEST_LIFE"

// order is what a child is to do.
type order struct {
	Test  string `json:"test"` // that the agent belongs to
	Dir   string `json:"dir"`
	Place int64  `json:"place"` // at which it is killed
}

// crashThread is the thread that the agent works on.
const crashThread selvage.ThreadID = "crash"

// lifetime bounds one life, so that an agent that hangs is an error and not a
// test that never ends.
const lifetime = 2 * time.Minute

// told is what a life that was not killed says at its end.
type told struct {
	Places int64 `json:"places"`
}

// live is the whole life of a child.
func live(o order, agent Agent, script *Script) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), lifetime)
	defer cancel()
	store, err := sqlite.Open(ctx, filepath.Join(o.Dir, storeFile), sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	l := &living{script: script, life: &Life{Dir: o.Dir, doom: o.Place}}
	l.life.Store = &doomedStore{store, l.life}
	opts, err := agent(l.life)
	if err != nil {
		return fmt.Errorf("make the agent: %w", err)
	}
	opts.Store = l.life.Store
	tools := opts.Tools
	opts.Tools = make([]tool.Tool, len(tools))
	for i, t := range tools {
		opts.Tools[i] = &witnessed{t, l.life}
	}
	if l.runner, err = runner.New(opts); err != nil {
		return err
	}
	for i, input := range script.Inputs {
		if err := l.through(ctx, i, input); err != nil {
			return fmt.Errorf("input %d: %w", i+1, err)
		}
	}
	end, err := json.Marshal(told{Places: l.life.place.Load()})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.Dir, reportFile), end, 0o600)
}

// living is an agent in a life.
type living struct {
	script *Script
	life   *Life
	runner *runner.Runner
}

// runID names the run of an input, so that every life means the same one.
func runID(i int) selvage.RunID { return selvage.RunID(fmt.Sprintf("input-%d", i+1)) }

// through takes the run of one input to its end, from wherever a life before
// has left it.
func (l *living) through(ctx context.Context, i int, input string) error {
	id := runID(i)
	run, err := runner.FindRun(ctx, l.life.Store, id)
	var result runner.Result
	switch {
	case errors.Is(err, selvage.ErrNotFound):
		say := selvage.UserText(input)
		say.ID = "say-" + string(id)
		result, err = l.runner.Run(ctx, crashThread, runner.Input{RunID: id, Messages: []selvage.Message{say}})
	case err == nil && run.Status == selvage.RunDone:
		return nil
	case err == nil:
		if run.Status == selvage.RunWaiting {
			if err := l.decide(ctx, id); err != nil {
				return err
			}
		}
		result, err = l.runner.Resume(ctx, id, runner.ResumeOptions{})
	}
	for err == nil && result.Waiting != nil {
		if err = l.decide(ctx, id); err == nil {
			result, err = l.runner.Resume(ctx, id, runner.ResumeOptions{})
		}
	}
	var ended *runner.FailedError
	if errors.As(err, &ended) {
		return nil // that is how it ends, and it is recorded
	}
	return err
}

// decide answers what a run waits for.
func (l *living) decide(ctx context.Context, id selvage.RunID) error {
	questions, err := runner.Questions(ctx, l.life.Store, id)
	if err != nil {
		return err
	}
	answer := l.script.Decide
	if answer == nil {
		answer = truth
	}
	for _, q := range questions {
		d, err := answer(ctx, l.life, q)
		if err != nil {
			return err
		}
		if _, err := runner.Decide(ctx, l.life.Store, id, d, q.Ticket.ID); err != nil {
			return err
		}
	}
	return nil
}

// truth answers as somebody who saw what happened.
func truth(_ context.Context, life *Life, q runner.Question) (selvage.Decision, error) {
	d := selvage.Decision{Action: selvage.DecisionResume, By: "selvagetest"}
	if !q.Ticket.Unknown {
		return d, nil
	}
	seen, err := life.executions()
	if err != nil {
		return d, err
	}
	for _, e := range seen {
		if e.Key != q.Call.ID || e.Result == nil {
			continue
		}
		if e.Failed != "" {
			d.Action, d.Reason = selvage.DecisionCancel, "it failed: "+e.Failed
			return d, nil
		}
		d.Result, err = json.Marshal(e.Result.Content.Text())
		return d, err
	}
	return d, nil
}
