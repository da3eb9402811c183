package runner_test

import (
	"sync/atomic"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// The result of a call that waits may come in with the next run, from a client
// that has run the call itself: it is the result, and there is no other.
func TestInboundResult(t *testing.T) {
	t.Parallel()
	store, ran := newSpy(), &atomic.Int32{}
	opts := runner.Options{Store: store, ToolCalls: selvage.ToolCallsParallel, Tools: []tool.Tool{gated(selvage.EffectNone, ran)}}
	waits := suspended(t, newRunner(t, opts), "t", `call deploy {"to":"a"} && deploy {"to":"b"}`)
	m := selvage.Message{Role: selvage.RoleTool, ToolCallID: waits.Tickets[1].Call.ID, Content: selvage.Text("the client did")}
	result, err := newRunner(t, opts).Run(t.Context(), "t", runner.Input{Messages: []selvage.Message{m}})
	if want := "Done: [interrupted] deploy has no result: the run ended first.; the client did"; err != nil || result.Text != want || ran.Load() != 0 {
		t.Errorf("%q, %v; ran %d times; want %q", result.Text, err, ran.Load(), want)
	}
	if run, err := runner.FindRun(t.Context(), store, waits.RunID); err != nil || run.Outcome == nil || run.Outcome.Code != runner.CodeSuperseded {
		t.Errorf("the run before: %+v, %v", run, err)
	}
	checkComplete(t, store, "t")
	verify(t, store, "t")
}
