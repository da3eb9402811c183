package runner_test

import (
	"fmt"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// A turn after a rewind, or on a fork, just works, wherever the cut was: also
// between a call and its result.
func TestTurnsAfterACut(t *testing.T) {
	t.Parallel()
	for _, effect := range []selvage.Effect{selvage.EffectNone, selvage.EffectIdempotent, selvage.EffectOnce} {
		t.Run(string(effect), func(t *testing.T) {
			t.Parallel()
			store := newSpy()
			r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{echoTool("echo", effect)}})
			mustRun(t, r, "t", "remember ONE")
			mustRun(t, r, "t", `call echo {"a":1} && echo {"a":2}`)
			last := mustRun(t, r, "t", "remember TWO").Version
			forker, ok := selvage.As[selvage.Forker](store.Store)
			if !ok {
				t.Fatal("the store does not fork")
			}
			for v := selvage.Version(1); v <= last; v++ {
				fork := selvage.ThreadID(fmt.Sprint("fork-", v))
				if _, err := forker.Fork(t.Context(), selvage.ForkRequest{From: "t", At: v, To: fork}); err != nil {
					t.Fatal(err)
				}
				turnsAfter(t, r, store, fork, v)
			}
			for v := last; v >= 1; v-- {
				if _, err := store.Append(t.Context(), "t", selvage.ChangeSet{Rewind: &v}, selvage.Any()); err != nil {
					t.Fatal(err)
				}
				turnsAfter(t, r, store, "t", v)
			}
		})
	}
}

// turnsAfter has two turns follow a cut at a version of the thread "t".
func turnsAfter(t *testing.T, r *runner.Runner, store *spy, id selvage.ThreadID, cut selvage.Version) {
	t.Helper()
	if got := mustRun(t, r, id, "recall").Text; got != "You asked me to remember: ONE" && cut < 9 {
		t.Errorf("thread %s cut at version %d answers %q; want what was said up to there", id, cut, got)
	}
	if got := mustRun(t, r, id, `call echo {"a":3}`).Text; got == "" || got[:5] != "Done:" {
		t.Errorf("thread %s cut at version %d answers a call with %q", id, cut, got)
	}
	if head := load(t, store, id); head.OpenRun != nil || len(head.OpenCalls) > 0 {
		t.Errorf("thread %s cut at version %d has open run %v, calls %v", id, cut, head.OpenRun, head.OpenCalls)
	}
	verify(t, store, id)
}
