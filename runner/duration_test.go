package runner_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// A run that has taken as long as it may is stopped in the middle of whatever
// it does, which is no error, and leaves no call without a result.
func TestDurationInterrupts(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		say, want string
		steps     int
	}{
		"an answer":           {"sleep 1m", "", 0},
		"a stream":            {"stream 1000", "", 0},
		"waiting to go on":    {"fail rate_limited", "", 0},
		"a tool":              {`call idle {} && echo {"text":"b"}`, "tool: [interrupted] idle has no result: the run ended first.\ntool: [interrupted] echo has no result", 1},
		"a once tool":         {"call once {}", "tool: once was interrupted. Its outcome is unknown", 1},
		"between two answers": {`loop 9 slow {}`, "tool: slept\n", 3},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, limit, begun := newSpy(), 5*time.Second, time.Now()
				opts := runner.Options{Store: store, Stop: selvage.StopRules{Timeout: &limit}, Retry: runner.Retry{Initial: time.Minute, Max: time.Minute},
					Tools: []tool.Tool{echoTool("echo", selvage.EffectNone), waiting("idle", selvage.EffectNone), waiting("once", selvage.EffectOnce), sleeper(2 * time.Second)}}
				result := mustRun(t, newRunner(t, opts), "t", tt.say)
				want := selvage.Outcome{Kind: selvage.OutcomeStopped, Code: runner.CodeTimeout, Detail: "the run may take 5s"}
				if took := time.Since(begun); result.Outcome != want || result.Steps != tt.steps || took < limit || took > limit+time.Second {
					t.Errorf("outcome %v after %d steps and %s", result.Outcome, result.Steps, took)
				}
				text := transcript(load(t, store, "t").Messages)
				if !strings.Contains(text, tt.want) || strings.Contains(text, "cancelled") {
					t.Errorf("want %q in\n%s", tt.want, text)
				}
				page, err := store.Runs(t.Context(), selvage.RunQuery{ThreadID: "t"})
				if err != nil || len(page.Items) != 1 || *page.Items[0].Outcome != want || page.Items[0].Error != "" {
					t.Errorf("recorded %+v, %v", page.Items, err)
				}
				checkComplete(t, store, "t")
				checkChain(t, store, "t")
			})
		})
	}
}

// sleeper is a tool that takes its time and does not look up.
func sleeper(d time.Duration) tool.Tool {
	return tool.Func("slow", "", func(context.Context, struct{}) (string, error) {
		time.Sleep(d)
		return "slept", nil
	}, tool.Options{Effect: selvage.EffectNone})
}

// The time of a run goes on while nobody leads it.
func TestDurationOfAResumedRun(t *testing.T) {
	t.Parallel()
	for _, dead := range []time.Duration{3 * time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			store, limit := newSpy(), 5*time.Second
			opts := runner.Options{Stop: selvage.StopRules{Timeout: &limit}, Tools: []tool.Tool{waiting("idle", selvage.EffectNone), echoTool("echo", selvage.EffectNone)}}
			begun := time.Now()
			die(t, store, opts, oneCall, 3)
			time.Sleep(dead)
			opts.Store, opts.Hooks = store, []selvage.Hook{{Name: "slow", BeforeTool: func(ctx context.Context, _ selvage.Scene) (selvage.Effects, error) {
				<-ctx.Done()
				return selvage.Effects{}, ctx.Err()
			}}}
			recovered, err := newRunner(t, opts).Recover(t.Context())
			if err != nil || len(recovered) != 1 || recovered[0].Err != nil || recovered[0].Result.Outcome.Code != runner.CodeTimeout {
				t.Errorf("recovered %v, %v", recovered, err)
			}
			if took := time.Since(begun); took != max(limit, dead) {
				t.Errorf("it took %s", took)
			}
			checkComplete(t, store, "t")
		})
	}
}
