package runner_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// A call of effect once that crashed, took too long, or lost against another may
// have had its effect although it failed, and its result is marked so; that of
// one that says itself that it failed is not.
func TestFailedButMayHaveHappened(t *testing.T) {
	t.Parallel()
	tools := func(effect selvage.Effect) []tool.Tool {
		opts := tool.Options{Effect: effect, Timeout: time.Second}
		if effect == selvage.EffectOnce {
			opts.OnUnknown = tool.AskUnknown
		}
		act := func(name string, f func(context.Context) (string, error)) tool.Tool {
			return tool.Func(name, "", func(ctx context.Context, _ struct{}) (string, error) { return f(ctx) }, opts)
		}
		return []tool.Tool{put("put", effect, nil),
			act("crash", func(context.Context) (string, error) { panic("ouch") }),
			act("slow", func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }),
			act("refuse", func(context.Context) (string, error) { return "", context.Canceled })}
	}
	for effect, want := range map[selvage.Effect]string{selvage.EffectOnce: "true", selvage.EffectIdempotent: ""} {
		for say, marked := range map[string]bool{"call crash {}": true, "call slow {}": true, "call refuse {}": false, `call put {"at":"/a","n":1} && put {"at":"/a","n":2}`: true} {
			t.Run(string(effect)+" "+say, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					store := newSpy()
					mustRun(t, newRunner(t, runner.Options{Store: store, ToolCalls: selvage.ToolCallsParallel, Tools: tools(effect)}), "t", say)
					messages := load(t, store, "t").Messages
					found := ""
					for i := range messages {
						if messages[i].Role == selvage.RoleTool {
							found += string(messages[i].Metadata[runner.MetadataUnknown])
						}
					}
					if marked && found != want || !marked && found != "" {
						t.Errorf("marked %q in\n%s", found, transcript(messages))
					}
					checkComplete(t, store, "t")
				})
			})
		}
	}
}
