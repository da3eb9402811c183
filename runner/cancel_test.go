package runner_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// waiting is a tool that waits until its context ends.
func waiting(name string, effect selvage.Effect) tool.Tool {
	opts := tool.Options{Effect: effect}
	if effect == selvage.EffectOnce {
		opts.OnUnknown = tool.FailUnknown
	}
	return tool.Func(name, "Waits.", func(ctx context.Context, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}, opts)
}

// cancelling is a hook that cancels the run at a moment.
func cancelling(m selvage.Moment, cancel context.CancelFunc) selvage.Hook {
	h := patching(m)
	f := func(context.Context, selvage.Scene) (selvage.Effects, error) {
		cancel()
		return selvage.Effects{}, nil
	}
	for _, p := range []*selvage.HookFunc{&h.RunStart, &h.StepStart, &h.BeforeInference, &h.AfterInference, &h.StepEnd, &h.BeforeTool, &h.AfterTool, &h.RunEnd} {
		if *p != nil {
			*p = f
		}
	}
	return h
}

// However and whenever a run is cancelled, its end is recorded as cancelled,
// one note says so to the next run, and no call is left without a result.
func TestCancelled(t *testing.T) {
	t.Parallel()
	type cause func(cancel context.CancelFunc) []selvage.Hook
	at := func(m selvage.Moment) cause {
		return func(cancel context.CancelFunc) []selvage.Hook { return []selvage.Hook{cancelling(m, cancel)} }
	}
	later := func(cancel context.CancelFunc) []selvage.Hook {
		time.AfterFunc(time.Second, cancel)
		return nil
	}
	tests := []struct {
		name, say string
		cause     cause
		want      string // of the last messages
	}{
		{"at run start", "hi", at(selvage.MomentRunStart), ""},
		{"at step start", "hi", at(selvage.MomentStepStart), ""},
		{"before inference", "hi", at(selvage.MomentBeforeInference), ""},
		{"during inference", "sleep 1m", later, ""},
		{"while it streams", "stream 1000", later, ""},
		{"while it waits to ask again", "fail rate_limited", later, ""},
		{"after inference", oneCall, at(selvage.MomentAfterInference), "tool: [interrupted] echo has no result: the run ended first.\n"},
		{"at step end", oneCall, at(selvage.MomentStepEnd), "tool: [interrupted] echo has no result: the run ended first.\n"},
		{"before a tool", "call once {}", at(selvage.MomentBeforeTool), "tool: [interrupted] once has no result: the run ended first.\n"},
		{"during a tool", "call idle {} && echo {\"text\":\"b\"}", later,
			"tool: [interrupted] idle has no result: the run ended first.\ntool: [interrupted] echo has no result: the run ended first.\n"},
		{"during a once tool", "call once {} && echo {\"text\":\"b\"}", later,
			"tool: once was interrupted. Its outcome is unknown: it may or may not have taken effect, and it was not repeated.\ntool: [interrupted] echo"},
		{"before a once tool", "call idle {} && once {}", later,
			"tool: [interrupted] idle has no result: the run ended first.\ntool: [interrupted] once has no result"},
		{"after a tool", oneCall, at(selvage.MomentAfterTool), "tool: a\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				store := newSpy()
				opts := runner.Options{Store: store, Retry: runner.Retry{Initial: time.Minute, Max: time.Minute}, Tools: []tool.Tool{
					echoTool("echo", selvage.EffectNone), waiting("idle", selvage.EffectNone), waiting("once", selvage.EffectOnce)}}
				opts.Hooks = tt.cause(cancel)
				result, err := newRunner(t, opts).Run(ctx, "t", runner.Text(tt.say))
				if result.Outcome.Kind != selvage.OutcomeCancelled || !errors.Is(err, context.Canceled) {
					t.Fatalf("outcome %v, error %v: want cancelled", result.Outcome, err)
				}
				head := load(t, store, "t")
				text := transcript(head.Messages)
				const note = "(system): [The run was cancelled here, before it was complete.]\n"
				if !strings.HasSuffix(text, note) || strings.Count(text, note) != 1 {
					t.Errorf("want one note, at the end:\n%s", text)
				}
				if !strings.Contains(text, tt.want) {
					t.Errorf("want %q in\n%s", tt.want, text)
				}
				checkChain(t, store, "t")
				if head.Lease != nil {
					t.Error("the lease is still held")
				}
				opts.Hooks = nil
				if next := mustRun(t, newRunner(t, opts), "t", "context"); !strings.HasPrefix(next.Text, "Context: ") {
					t.Errorf("the next run answers %q", next.Text)
				}
			})
		})
	}
}

// A run that was cancelled before it began leaves nothing.
func TestCancelledBeforeItBegan(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	store := newSpy()
	_, err := newRunner(t, runner.Options{Store: store}).Run(ctx, "t", runner.Text("hi"))
	if !errors.Is(err, context.Canceled) || store.attempts != 0 {
		t.Errorf("error %v after %d appends", err, store.attempts)
	}
}

// A result that a tool returns although the run is cancelled is recorded.
func TestResultOfACancelledRun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	store := newSpy()
	stubborn := tool.Func("stubborn", "", func(context.Context, struct{}) (string, error) {
		cancel()
		return "done all the same", nil
	}, tool.Options{Effect: selvage.EffectOnce, OnUnknown: tool.FailUnknown})
	r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{stubborn}})
	if _, err := r.Run(ctx, "t", runner.Text("call stubborn {}")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if text := transcript(load(t, store, "t").Messages); !strings.Contains(text, "tool: done all the same\n") {
		t.Errorf("the result is lost:\n%s", text)
	}
	checkChain(t, store, "t")
}

// What a cancelled run has done is recorded for what it is, before its end.
func TestCancelledSchedule(t *testing.T) {
	t.Parallel()
	tests := map[selvage.Moment]string{
		selvage.MomentRunStart: "run_finished: internal system, run cancelled/",
		selvage.MomentStepEnd: "assistant_turn_committed: assistant+calls, run running, call started\n" +
			"tool_results_committed: tool, call cancelled\nrun_finished: internal system, run cancelled/",
		selvage.MomentAfterTool: "assistant_turn_committed: assistant+calls, run running, call started\n" +
			"tool_results_committed: tool, call succeeded\nrun_finished: internal system, run cancelled/",
	}
	for m, want := range tests {
		ctx, cancel := context.WithCancel(t.Context())
		store := newSpy()
		r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{echoTool("echo", selvage.EffectOnce)}, Hooks: []selvage.Hook{cancelling(m, cancel)}})
		if _, err := r.Run(ctx, "t", runner.Text(oneCall)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", m, err)
		}
		if got, ok := strings.CutPrefix(strings.TrimSpace(store.schedule()), "user_message: user, run running\n"); !ok || got != want {
			t.Errorf("%s: recorded\n%s\nwant\n%s", m, got, want)
		}
		cancel()
	}
	// A turn whose hook fails after its answer is recorded too.
	store := newSpy()
	fail := selvage.Hook{Name: "h", AfterInference: func(context.Context, selvage.Scene) (selvage.Effects, error) {
		return selvage.Effects{}, errors.New("no")
	}}
	r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{echoTool("echo", selvage.EffectNone)}, Hooks: []selvage.Hook{fail}})
	if _, err := r.Run(t.Context(), "t", runner.Text(oneCall)); err == nil {
		t.Error("no error")
	}
	const want = "user_message: user, run running\ntool_results_committed: assistant+calls, tool\nrun_finished: run failed/hook\n"
	if got := store.schedule(); got != want {
		t.Errorf("recorded\n%s\nwant\n%s", got, want)
	}
}
