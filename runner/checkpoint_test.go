package runner_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/tool"
)

// counting is a hook that patches the state once at a moment.
func patching(m selvage.Moment) selvage.Hook {
	h := selvage.Hook{Name: "h"}
	f := func(_ context.Context, at selvage.Scene) (selvage.Effects, error) {
		return selvage.Effects{Patch: state.Patch{state.Set(state.At("hook", string(at.Moment)), state.Int(int64(at.Step)))}}, nil
	}
	switch m {
	case selvage.MomentRunStart:
		h.RunStart = f
	case selvage.MomentStepStart:
		h.StepStart = f
	case selvage.MomentBeforeInference:
		h.BeforeInference = f
	case selvage.MomentAfterInference:
		h.AfterInference = f
	case selvage.MomentStepEnd:
		h.StepEnd = f
	case selvage.MomentBeforeTool:
		h.BeforeTool = f
	case selvage.MomentAfterTool:
		h.AfterTool = f
	case selvage.MomentRunEnd:
		h.RunEnd = f
	}
	return h
}

// Each moment of a run is recorded with its reason, contents and order.
func TestCheckpointSchedule(t *testing.T) {
	t.Parallel()
	const one = `call echo {"text":"a"}`
	tests := []struct {
		name  string
		say   string
		hooks []selvage.Hook
		once  bool
		want  string
	}{
		{name: "no tool", say: "hi", want: `
user_message: user, run running
assistant_turn_committed: assistant, run running
run_finished: run completed/
`},
		{name: "one tool", say: one, want: `
user_message: user, run running
assistant_turn_committed: assistant+calls, run running
tool_results_committed: tool
assistant_turn_committed: assistant, run running
run_finished: run completed/
`},
		{name: "one once tool", say: one, once: true, want: `
user_message: user, run running
assistant_turn_committed: assistant+calls, run running, call started
tool_results_committed: tool, call succeeded
assistant_turn_committed: assistant, run running
run_finished: run completed/
`},
		// The result of a once call is not left waiting for the calls after it.
		{name: "two once tools", say: one + ` && ` + `echo {"text":"b"}`, once: true, want: `
user_message: user, run running
assistant_turn_committed: assistant+calls, run running, call started, call started
tool_results_committed: tool, call succeeded
tool_results_committed: tool, call succeeded
assistant_turn_committed: assistant, run running
run_finished: run completed/
`},
		{name: "two tools", say: one + ` && ` + `echo {"text":"b"}`, want: `
user_message: user, run running
assistant_turn_committed: assistant+calls, run running
tool_results_committed: tool, tool
assistant_turn_committed: assistant, run running
run_finished: run completed/
`},
		{name: "unknown tool, bad arguments", say: `call nothing {} && echo {"txt":1}`, want: `
user_message: user, run running
assistant_turn_committed: assistant+calls, run running
tool_results_committed: tool, tool
assistant_turn_committed: assistant, run running
run_finished: run completed/
`},
		// A once tool with arguments it does not take is not started.
		{name: "once tool, bad arguments", say: `call echo {"txt":1}`, once: true, want: `
user_message: user, run running
assistant_turn_committed: assistant+calls, run running
tool_results_committed: tool
assistant_turn_committed: assistant, run running
run_finished: run completed/
`},
		{name: "hook at run start", say: "hi", hooks: []selvage.Hook{patching(selvage.MomentRunStart)}, want: `
user_message: user, run running
user_message: patch hook:h
assistant_turn_committed: assistant, run running
run_finished: run completed/
`},
		{name: "hook at step start", say: "hi", hooks: []selvage.Hook{patching(selvage.MomentStepStart)}, want: `
user_message: user, run running
user_message: patch hook:h
assistant_turn_committed: assistant, run running
run_finished: run completed/
`},
		{name: "hook before inference", say: "hi", hooks: []selvage.Hook{patching(selvage.MomentBeforeInference)}, want: `
user_message: user, run running
user_message: patch hook:h
assistant_turn_committed: assistant, run running
run_finished: run completed/
`},
		{name: "hooks around the answer", say: "hi", hooks: []selvage.Hook{patching(selvage.MomentAfterInference)}, want: `
user_message: user, run running
assistant_turn_committed: assistant, patch hook:h, run running
run_finished: run completed/
`},
		{name: "hook at step end", say: "hi", hooks: []selvage.Hook{patching(selvage.MomentStepEnd)}, want: `
user_message: user, run running
assistant_turn_committed: assistant, patch hook:h, run running
run_finished: run completed/
`},
		{name: "hook before a tool", say: one, hooks: []selvage.Hook{patching(selvage.MomentBeforeTool)}, want: `
user_message: user, run running
assistant_turn_committed: assistant+calls, run running
tool_results_committed: tool, patch hook:h
assistant_turn_committed: assistant, run running
run_finished: run completed/
`},
		{name: "hook after a tool", say: one, hooks: []selvage.Hook{patching(selvage.MomentAfterTool)}, want: `
user_message: user, run running
assistant_turn_committed: assistant+calls, run running
tool_results_committed: tool, patch hook:h
assistant_turn_committed: assistant, run running
run_finished: run completed/
`},
		{name: "hook at run end", say: "hi", hooks: []selvage.Hook{patching(selvage.MomentRunEnd)}, want: `
user_message: user, run running
assistant_turn_committed: assistant, run running
run_finished: patch hook:h, run completed/
`},
		{name: "provider error", say: "fail permanent", want: `
user_message: user, run running
run_finished: run failed/permanent
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			effect := selvage.EffectNone
			if tt.once {
				effect = selvage.EffectOnce
			}
			store := newSpy()
			r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{echoTool("echo", effect)}, Hooks: tt.hooks})
			_, _ = r.Run(t.Context(), "t", runner.Text(tt.say)) // the error is another test's
			if diff := cmp.Diff(strings.TrimSpace(tt.want), strings.TrimSpace(store.schedule())); diff != "" {
				t.Errorf("schedule (-want +got):\n%s", diff)
			}
			checkChain(t, store, "t")
		})
	}
}

// checkChain holds the log of a thread against what every run must leave:
// contiguous versions, exact preconditions, one id a change, a fence on each,
// a chain that verifies, no unanswered call and no open run.
func checkChain(t *testing.T, store *spy, id selvage.ThreadID) {
	t.Helper()
	ids := map[string]bool{}
	for i, a := range store.appended() {
		if v, exact := a.pre.Version(); !exact || v != selvage.Version(i) {
			t.Errorf("change %d was appended at %s, want exact(%d)", i+1, a.pre, i)
		}
		if a.set.ID == "" || ids[a.set.ID] {
			t.Errorf("change %d bears id %q: want one of its own", i+1, a.set.ID)
		}
		ids[a.set.ID] = true
		if a.set.Fence == nil || a.set.Fence.Epoch == 0 {
			t.Errorf("change %d is not fenced", i+1)
		}
	}
	verify(t, store, id)
	checkComplete(t, store, id)
}

// checkComplete finds nothing left open on a thread: no run, no call, and one
// result for each call.
func checkComplete(t *testing.T, store selvage.Store, id selvage.ThreadID) {
	t.Helper()
	head := load(t, store, id)
	if head.OpenRun != nil || len(head.OpenCalls) > 0 {
		t.Errorf("left open: run %v, calls %v", head.OpenRun, head.OpenCalls)
	}
	answered := map[string]int{}
	for _, m := range head.Messages {
		if m.Role == selvage.RoleTool {
			answered[m.ToolCallID]++
		}
	}
	for _, m := range head.Messages {
		for _, c := range m.ToolCalls {
			if answered[c.ID] != 1 {
				t.Errorf("call %s of message %d has %d results, want 1", c.ID, m.Seq, answered[c.ID])
			}
		}
	}
}

// verify reads the whole log of a thread and proves its chain.
func verify(t testing.TB, store selvage.Store, id selvage.ThreadID) []selvage.Change {
	t.Helper()
	var all []selvage.Change
	limit := selvage.MaxPage
	query := selvage.ChangeQuery{Limit: &limit}
	var prev selvage.Hash
	for {
		page, err := store.Changes(t.Context(), id, query)
		if err != nil {
			t.Fatal(err)
		}
		for i := range page.Items {
			c := &page.Items[i]
			if c.Version != selvage.Version(len(all)+1) {
				t.Fatalf("version %d follows %d", c.Version, len(all))
			}
			if err := c.Verify(prev); err != nil {
				t.Fatal(err)
			}
			prev, all = c.Hash, append(all, *c)
		}
		if page.Next == "" {
			return all
		}
		query.Cursor = page.Next
	}
}

// A user turn with one tool costs at most five commits, six with a once tool.
func TestCommitsOfATurn(t *testing.T) {
	t.Parallel()
	for effect, most := range map[selvage.Effect]int{selvage.EffectNone: 5, selvage.EffectIdempotent: 5, selvage.EffectOnce: 6} {
		store := newSpy()
		r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{echoTool("echo", effect)}})
		mustRun(t, r, "t", `call echo {"text":"a"}`)
		if n := store.attempts; n > most {
			t.Errorf("%s: %d appends, want at most %d", effect, n, most)
		}
	}
}
