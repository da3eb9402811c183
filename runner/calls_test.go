package runner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/tool"
)

// What a tool reports is told while it runs, whichever goroutine reports it.
func TestProgress(t *testing.T) {
	t.Parallel()
	told, heard := make(chan struct{}), 0
	busy := tool.New("busy", "", func(_ context.Context, c *tool.Call, _ struct{}) (string, error) {
		var done sync.WaitGroup
		for i := range 4 {
			done.Go(func() { c.Progress(fmt.Sprint(i)) })
		}
		<-told // it would hang here if the reports came after the result
		done.Wait()
		return "done", nil
	}, tool.Options{Effect: selvage.EffectNone})
	r := newRunner(t, runner.Options{Tools: []tool.Tool{busy}})
	var kinds []string
	for e, err := range r.AskStream(t.Context(), runner.Text("call busy {}")) {
		switch {
		case err != nil:
			t.Fatal(err)
		case e.Kind == runner.EventProgress:
			if heard++; heard == 4 {
				close(told)
			}
			fallthrough
		case e.Kind == runner.EventCall:
			kinds = append(kinds, string(e.Kind)+" "+e.Call.Name)
		case e.Message != nil && e.Message.Role == selvage.RoleTool:
			kinds = append(kinds, e.Message.Text())
		}
	}
	want := []string{"call busy", "progress busy", "progress busy", "progress busy", "progress busy", "done"}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// Leaving the range on a report of a tool stops the tool.
func TestLeavingOnProgress(t *testing.T) {
	t.Parallel()
	store := newSpy()
	endless := tool.New("endless", "", func(ctx context.Context, c *tool.Call, _ struct{}) (string, error) {
		for ctx.Err() == nil {
			c.Progress("still at it")
		}
		return "", ctx.Err()
	}, tool.Options{Effect: selvage.EffectNone})
	r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{endless}})
	for e := range r.Stream(t.Context(), "t", runner.Text("call endless {}")) {
		if e.Kind == runner.EventProgress {
			break
		}
	}
	checkChain(t, store, "t")
}

// A panic in a tool is the model's to read and the log's to explain.
func TestPanicIsLogged(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	crash := tool.Func("crash", "", func(context.Context, struct{}) (string, error) { panic("ouch") }, tool.Options{Effect: selvage.EffectNone})
	r := newRunner(t, runner.Options{Tools: []tool.Tool{crash}, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	result, err := r.Ask(t.Context(), runner.Text("call crash {}"))
	if err != nil || result.Text != "Done: crash crashed: ouch" {
		t.Errorf("answer %q, %v", result.Text, err)
	}
	for _, want := range []string{"level=ERROR", "ouch", "TestPanicIsLogged", "tool=crash"} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, logged.String())
		}
	}
}

// A tool is told which call it answers, by names that do not come back.
func TestCallIsNamed(t *testing.T) {
	t.Parallel()
	var calls []string
	look := tool.New("look", "", func(_ context.Context, c *tool.Call, _ struct{}) (string, error) {
		if c.ThreadID != "t" || c.RunID != "r" || c.Name != "look" || c.IdempotencyKey == "" || string(c.Arguments) != "{}" {
			t.Errorf("call %+v", c)
		}
		calls = append(calls, fmt.Sprintf("%d %v", c.Step, len(c.ID) > 20))
		return c.IdempotencyKey, nil
	}, tool.Options{Effect: selvage.EffectIdempotent})
	store := newSpy()
	in := runner.Text("loop 2 look {}")
	in.RunID = "r"
	if _, err := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{look}}).Run(t.Context(), "t", in); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1 true", "2 true"}, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	head := load(t, store, "t")
	if head.Messages[2].Text() == head.Messages[4].Text() {
		t.Error("two calls have one key")
	}
}

// What the last change of a run carries is applied once, even if its receipt
// was lost.
func TestLastDeltaCountsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newSpy()
		zero, err := state.Parse([]byte(`{"runs":0}`))
		if err != nil {
			t.Fatal(err)
		}
		count := selvage.Hook{Name: "h", RunEnd: func(context.Context, selvage.Scene) (selvage.Effects, error) {
			return selvage.Effects{Patch: state.Patch{state.Increment("/runs", state.Int(1))}}, nil
		}}
		store.after = func(n int, _ *selvage.ChangeSet) error {
			if n >= 3 && n < 6 {
				return fmt.Errorf("the line broke: %w", selvage.ErrUnknownOutcome)
			}
			return nil
		}
		in := runner.Text("hi")
		in.State = &zero
		if _, err := newRunner(t, runner.Options{Store: store, Hooks: []selvage.Hook{count}}).Run(t.Context(), "t", in); err != nil {
			t.Fatal(err)
		}
		if got := load(t, store, "t").State.String(); got != `{"runs":1}` {
			t.Errorf("state %s", got)
		}
	})
}

// A store that cannot be reached for a while holds a run up; one that stays
// away does not hold it for ever.
func TestLeaseUnavailable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newLeaser()
		failures := 3
		store.refuse = func() error {
			if failures--; failures >= 0 {
				return errDown
			}
			return nil
		}
		mustRun(t, newRunner(t, runner.Options{Store: store}), "t", "hi")
		store.refuse = func() error { return errDown }
		if _, err := newRunner(t, runner.Options{Store: store}).Run(t.Context(), "t", runner.Text("hi")); !errors.Is(err, selvage.ErrUnavailable) {
			t.Errorf("error %v", err)
		}
	})
}
