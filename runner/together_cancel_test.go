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

// A run that is cancelled while calls run at once keeps the results that there
// are, says of each other call what is known of it, and says once that it was
// cancelled.
func TestCancelledTogether(t *testing.T) {
	t.Parallel()
	const note = "(system): [The run was cancelled here, before it was complete.]\n"
	for _, mode := range []selvage.ToolCalls{selvage.ToolCallsParallel, selvage.ToolCallsBatch} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				store := newSpy()
				r := newRunner(t, runner.Options{Store: store, ToolCalls: mode, Tools: []tool.Tool{
					echoTool("echo", selvage.EffectNone), echoTool("done", selvage.EffectOnce), waiting("idle", selvage.EffectNone), waiting("once", selvage.EffectOnce)}})
				result, err := r.Run(ctx, "t", runner.Text(`call idle {} && echo {"text":"a"} && once {} && done {"text":"b"} && idle {}`))
				if result.Outcome.Kind != selvage.OutcomeCancelled || !errors.Is(err, context.Canceled) {
					t.Fatalf("outcome %v, error %v: want cancelled", result.Outcome, err)
				}
				text := transcript(load(t, store, "t").Messages)
				if !strings.HasSuffix(text, note) || strings.Count(text, note) != 1 {
					t.Errorf("want one note, at the end:\n%s", text)
				}
				for what, times := range map[string]int{"tool: a\n": 1, "tool: b\n": 1, "[interrupted] idle has no result": 2, "once was interrupted. Its outcome is unknown": 1} {
					if strings.Count(text, what) != times {
						t.Errorf("want %q %d times in\n%s", what, times, text)
					}
				}
				last := store.appended()[len(store.appended())-1].set
				if got := describe(&last); got != "run_finished: internal system, run cancelled/" {
					t.Errorf("it ends with %s", got)
				}
				checkChain(t, store, "t")
			})
		})
	}
}
