package runner_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// napper is a tool whose calls sleep.
func napper(d time.Duration) tool.Tool {
	return tool.Func("naps", "", func(ctx context.Context, _ struct{}) (string, error) {
		if err := runner.Sleep(ctx, "nap", d); err != nil {
			return "", err
		}
		return "awake", nil
	}, tool.Options{Effect: selvage.EffectIdempotent})
}

// A short sleep is slept where it is, a long one lets the process end; neither
// begins again when the call does.
func TestSleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, d := range []time.Duration{-1, 0, 3 * time.Second, time.Hour} {
			store := newSpy()
			opts := runner.Options{Store: store, Tools: []tool.Tool{napper(d)}}
			began := time.Now()
			result, err := newRunner(t, opts).Run(t.Context(), "t", runner.Text("call naps {}"))
			if waits := result.Waiting != nil; err != nil || waits != (d == time.Hour) {
				t.Fatalf("%s: %+v, %v", d, result, err)
			}
			for result.Waiting != nil {
				time.Sleep(40 * time.Minute)
				if result, err = newRunner(t, opts).Resume(t.Context(), result.RunID, runner.ResumeOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			took := time.Since(began)
			if result.Text != "Done: awake" || took < d || took > d+30*time.Minute {
				t.Errorf("%s: %q after %s", d, result.Text, took)
			}
			checkComplete(t, store, "t")
		}
		// Where nothing is kept all of it is slept where it is.
		result, err := newRunner(t, runner.Options{Tools: []tool.Tool{napper(time.Hour)}}).Ask(t.Context(), runner.Text("call naps {}"))
		if err != nil || result.Text != "Done: awake" {
			t.Errorf("%+v, %v", result, err)
		}
	})
}

// The rest of a sleep that a crash interrupted is slept, not all of it.
func TestSleepSurvivesACrash(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newSpy()
		opts := runner.Options{Tools: []tool.Tool{napper(8 * time.Second)}}
		die(t, store, opts, "call naps {}", 4) // its result
		began := time.Now()
		opts.Store = store
		recovered, err := newRunner(t, opts).Recover(t.Context())
		if err != nil || len(recovered) != 1 || recovered[0].Result.Text != "Done: awake" || time.Since(began) != 0 {
			t.Errorf("recovered %+v, %v after %s", recovered, err, time.Since(began))
		}
	})
}

// Each signal is taken once, by who waits for it, and a call keeps the one that
// it took.
func TestSignals(t *testing.T) {
	t.Parallel()
	store := newSpy()
	hears := tool.Func("hears", "", func(ctx context.Context, _ struct{}) (int, error) {
		return runner.Await[int](ctx, "n")
	}, tool.Options{Effect: selvage.EffectIdempotent})
	opts := runner.Options{Store: store, ToolCalls: selvage.ToolCallsParallel, Tools: []tool.Tool{hears}}
	waits := suspended(t, newRunner(t, opts), "t", "call hears {} && hears {} && hears {}")
	if w := waits.Waiting; w.Reason != selvage.WaitExternalEvent || len(w.Tickets) != 3 || waits.Tickets[0].Ticket.Signal != "n" {
		t.Errorf("it waits for %+v", w)
	}
	send := func(name, payload string) {
		t.Helper()
		if err := runner.Signal(t.Context(), store, waits.RunID, name, json.RawMessage(payload)); err != nil {
			t.Fatal(err)
		}
	}
	send("n", "1")
	send("n", "2")
	send("another", "")
	half, err := newRunner(t, opts).Resume(t.Context(), waits.RunID, runner.ResumeOptions{})
	if err != nil || half.Waiting == nil || len(half.Tickets) != 1 {
		t.Fatalf("with two signals: %+v, %v", half, err)
	}
	send("n", "3")
	result, err := newRunner(t, opts).Resume(t.Context(), waits.RunID, runner.ResumeOptions{})
	if err != nil || result.Outcome.Kind != selvage.OutcomeCompleted {
		t.Fatalf("with three: %+v, %v", result, err)
	}
	heard := map[string]int{}
	for _, m := range load(t, store, "t").Messages {
		if m.Role == selvage.RoleTool {
			heard[m.Text()]++
		}
	}
	if diff := cmp.Diff(map[string]int{"1": 1, "2": 1, "3": 1}, heard); diff != "" {
		t.Errorf("heard (-want +got):\n%s", diff)
	}
	checkComplete(t, store, "t")
	verify(t, store, "t")
}
