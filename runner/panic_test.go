package runner_test

import (
	"context"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// panicky gives one answer and panics in the next.
type panicky struct{ scripted }

func (m *panicky) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	if len(m.streams) > 0 {
		return m.scripted.Stream(ctx, req)
	}
	return func(func(model.Chunk, error) bool) { panic("no such answer") }
}

// panics calls f and returns what it panics with; nil if it does not.
func panics(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// A model that panics does so where the run is led, also if the run listens for
// decisions beside its answer, and the run can be gone on with.
func TestModelPanics(t *testing.T) {
	t.Parallel()
	for name, streams := range map[string][][]any{"first answer": nil, "beside a call that waits": {mixed}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newSpy()
				opts := runner.Options{Store: store, ToolCalls: selvage.ToolCallsParallel, Model: &panicky{scripted{streams: streams}},
					Tools: []tool.Tool{echoTool("echo", selvage.EffectNone), slowly(&atomic.Int64{}, &atomic.Int32{})}}
				v := panics(func() { _, _ = newRunner(t, opts).Run(t.Context(), "t", runner.Text("hi")) })
				if v != "no such answer" {
					t.Fatalf("it panicked with %v", v)
				}
				opts.Model = &scripted{streams: [][]any{{text("done"), stop}, {text("done"), stop}}}
				if all, err := newRunner(t, opts).Recover(t.Context()); err != nil || len(all) != 1 || all[0].Err != nil {
					t.Errorf("recovered %v, %v", all, err)
				}
			})
		})
	}
}

// patient is a tool that says that it is at work, and is so for an hour.
type patient struct{}

func (patient) Spec() selvage.ToolSpec {
	return selvage.ToolSpec{Name: "patient", Effect: selvage.EffectNone}
}

func (patient) Run(ctx context.Context, c *tool.Call) (selvage.ToolResult, error) {
	c.Progress("on it")
	select {
	case <-ctx.Done():
		return selvage.ToolResult{}, ctx.Err()
	case <-time.After(time.Hour):
		return tool.Text("done"), nil
	}
}

// Whoever ranges over the events and panics while tools are at work is not kept
// waiting: the tools are interrupted.
func TestListenerPanics(t *testing.T) {
	t.Parallel()
	for _, kind := range []selvage.EventKind{runner.EventCall, runner.EventProgress} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRunner(t, runner.Options{Store: newSpy(), ToolCalls: selvage.ToolCallsParallel, Tools: []tool.Tool{patient{}},
					Model: &scripted{streams: [][]any{{call("patient", `{"text":"a"}`), call("patient", `{"text":"b"}`), stop}}}})
				began, calls := time.Now(), 0
				v := panics(func() {
					for e, err := range r.Stream(t.Context(), "t", runner.Text("hi")) {
						if err != nil {
							t.Error(err)
						}
						if e.Kind == kind {
							calls++
						}
						if calls == 2 {
							panic("enough of " + string(kind))
						}
					}
				})
				if text, _ := v.(string); !strings.HasPrefix(text, "enough of ") || time.Since(began) > time.Second {
					t.Errorf("it panicked with %v after %s", v, time.Since(began))
				}
			})
		})
	}
}
