package runner_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/runner"
)

// Stream checkpoints are written by time and size, never for each delta, and
// not at all for a short answer that comes fast.
func TestCheckpointsByTimeAndSize(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		n     int // pieces
		size  int // of each, in bytes
		gap   time.Duration
		wrote int
	}{
		{"fast and short", 1000, 4, 0, 0},
		{"fast enough", 99, 4, 10 * time.Millisecond, 0},
		{"slow", 100, 4, 100 * time.Millisecond, 9}, // 10 s of deltas
		{"very slow", 3, 4, 10 * time.Second, 3},
		{"long", 64, 1 << 10, time.Millisecond, 16},
		{"one delta", 1, 1 << 16, 0, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var stream []any
				for range tt.n {
					stream = append(stream, text(strings.Repeat("x", tt.size)), tt.gap)
				}
				store := newKeeping(newSpy())
				m := &scripted{streams: [][]any{append(stream, stop)}}
				mustRun(t, newRunner(t, runner.Options{Store: store, Model: m}), "t", "hi")
				written := store.written()
				if len(written) != tt.wrote {
					t.Errorf("%d checkpoints written, want %d", len(written), tt.wrote)
				}
				if c := store.left(t, "t"); c != nil {
					t.Errorf("a checkpoint is left of an answer that is recorded: %+v", c)
				}
				if (store.deletes > 0) != (tt.wrote > 0) {
					t.Errorf("%d deletions for %d checkpoints", store.deletes, tt.wrote)
				}
				for _, c := range written {
					if c.Step != 1 || c.Epoch < 1 || c.Model != "test/scripted" || c.Text == "" || c.ExpiresAt == nil ||
						tt.gap > 0 && c.Usage.OutputTokens == 0 {
						t.Errorf("checkpoint of %d bytes in step %d, epoch %d, of %s, usage %v, until %v", len(c.Text), c.Step, c.Epoch, c.Model, c.Usage, c.ExpiresAt)
					}
				}
			})
		})
	}
}

// A store that is slow to keep a checkpoint does not hold the stream up, one
// write is under way at a time, and the end of the answer does not wait for it.
func TestSlowCheckpoints(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var stream []any
		for range 100 {
			stream = append(stream, text(strings.Repeat("x", 1<<10)), 10*time.Millisecond)
		}
		store := newKeeping(newSpy())
		store.pause = 300 * time.Millisecond
		m := &scripted{streams: [][]any{append(stream, stop)}}
		begun := time.Now()
		mustRun(t, newRunner(t, runner.Options{Store: store, Model: m}), "t", "hi")
		if took := time.Since(begun); took > 1100*time.Millisecond {
			t.Errorf("the run took %v, the stream 1s", took)
		}
		if n := len(store.written()); n < 3 || n > 4 || store.most != 1 {
			t.Errorf("%d writes, %d at a time", n, store.most)
		}
		if c := store.left(t, "t"); c != nil {
			t.Errorf("a checkpoint is left: %+v", c)
		}
	})
}

// A write that cannot be given up is waited for: it is over when the run is,
// and leaves nothing behind.
func TestCheckpointUnderWayAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newKeeping(newSpy())
		store.pause, store.deaf = 300*time.Millisecond, true
		m := &scripted{streams: [][]any{{text("slow"), 1100 * time.Millisecond, stop}}}
		mustRun(t, newRunner(t, runner.Options{Store: store, Model: m}), "t", "hi")
		store.mu.Lock()
		under := store.under
		store.mu.Unlock()
		time.Sleep(time.Second)
		if c := store.left(t, "t"); under != 0 || len(store.written()) != 1 || c != nil {
			t.Errorf("%d writes under way at the end, %d made, left %+v", under, len(store.written()), c)
		}
	})
}

// An answer that is interrupted leaves what had come of it, its cost is counted
// although the provider had not told it, and it is no message. The next
// complete answer of the thread clears it.
func TestInterruptedAnswerIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newKeeping(newSpy())
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		price := model.Price{Input: selvage.Dollar, Output: selvage.Dollar}
		m := &scripted{streams: [][]any{{model.Chunk{Reasoning: "hm, hm"}, text("Once upon "), text("a time"), time.Hour}}}
		time.AfterFunc(100*time.Millisecond, cancel)
		result, err := newRunner(t, runner.Options{Store: store, Model: m, Price: &price}).Run(ctx, "t", runner.Text("tell me!"))
		if err == nil || result.Outcome.Kind != selvage.OutcomeCancelled {
			t.Fatalf("%+v, %v", result, err)
		}
		c := store.left(t, "t")
		if c == nil || c.Text != "Once upon a time" || c.Reasoning != "hm, hm" || c.Step != 1 || c.RunID != result.RunID {
			t.Fatalf("kept %+v", c)
		}
		usage := selvage.Usage{InputTokens: 2, OutputTokens: 6} // 8 and 22 characters
		if c.Usage != usage || result.Usage != usage || result.Cost != price.Cost(usage) || c.Cost != result.Cost || c.RunCost != result.Cost {
			t.Errorf("usage %v, %v of the run; cost %v, %v", c.Usage, result.Usage, c.Cost, result.Cost)
		}
		for _, m := range load(t, store, "t").Messages {
			if strings.Contains(m.Text(), "Once") {
				t.Errorf("it became a message: %+v", m)
			}
		}
		was := result.RunID
		r := newRunner(t, runner.Options{Store: store})
		if mustRun(t, r, "t", "hi"); store.deletes != 1 {
			t.Errorf("%d deletions", store.deletes)
		}
		if _, err := store.inner.Get(t.Context(), "t", was); err == nil {
			t.Error("it outlived the next complete answer")
		}
		if mustRun(t, r, "t", "hi"); store.deletes != 1 {
			t.Error("a run after a complete one deletes something")
		}
	})
}

// A process that dies in the middle of an answer leaves what had come; whoever
// goes on with the run goes on with the answer, and books what it cost once.
func TestCrashInTheMiddleOfAnAnswer(t *testing.T) {
	t.Parallel()
	for _, mode := range []runner.OnPartial{runner.Continue, runner.Restart} {
		synctest.Test(t, func(t *testing.T) {
			inner := newSpy()
			store := newKeeping(inner)
			price := model.Price{Output: 1_000_000 * selvage.Dollar}
			m := &scripted{streams: [][]any{{text("Once upon "), tokens(2), text("a time"), 2 * time.Second, text(" lost"), time.Hour}}}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(2500*time.Millisecond, func() {
				store.die()
				cancel()
			})
			opts := runner.Options{Store: store, Model: m, Price: &price, OnPartial: mode}
			if _, err := newRunner(t, opts).Run(ctx, "t", runner.Text("hi")); err == nil {
				t.Fatal("it did not die")
			}
			opts.Store = newKeeping(inner)
			m.streams = [][]any{{text(", there"), tokens(3), stop}}
			recovered, err := newRunner(t, opts).Recover(t.Context())
			if err != nil || len(recovered) != 1 || recovered[0].Err != nil {
				t.Fatalf("%v, %v", recovered, err)
			}
			result := recovered[0].Result
			want, prefix := "Once upon a time, there", "Once upon a time"
			if mode == runner.Restart {
				want, prefix = ", there", ""
			}
			if result.Text != want || m.prefixes[1] != prefix || result.Steps != 1 {
				t.Errorf("%s: %q after prefix %q, %d steps", mode, result.Text, m.prefixes[1], result.Steps)
			}
			if result.Usage.OutputTokens != 7 || result.Cost != 7*selvage.Dollar { // 2 told, 2 estimated, 3 told
				t.Errorf("%s: usage %v, cost %v", mode, result.Usage, result.Cost)
			}
			if c := store.left(t, "t"); c != nil {
				t.Errorf("%s: left %+v", mode, c)
			}
			checkChain(t, opts.Store.(*keeping).spy, "t")
		})
	}
}

// Between recording an answer and deleting its checkpoint a process may die;
// what the answer cost is not booked again.
func TestCrashBeforeTheCheckpointIsDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := newSpy()
		store := newKeeping(inner)
		price := model.Price{Output: 1_000_000 * selvage.Dollar}
		m := &scripted{streams: [][]any{
			{text("I'll look"), tokens(2), 2 * time.Second, tokens(4), call("echo", `{"text":"a"}`), stop}}}
		inner.after = func(n int, set *selvage.ChangeSet) error {
			if set.Reason == selvage.ReasonAssistantTurn {
				store.die()
			}
			return nil
		}
		opts := runner.Options{Store: store, Model: m, Price: &price, Tools: echoTools()}
		if _, err := newRunner(t, opts).Run(t.Context(), "t", runner.Text("hi")); err == nil {
			t.Fatal("it did not die")
		}
		inner.after = nil
		if c := store.left(t, "t"); c == nil || c.Step != 1 || c.RunCost == 0 {
			t.Fatalf("left %+v", c)
		}
		opts.Store = newKeeping(inner)
		m.streams = [][]any{{text("done"), tokens(1), stop}}
		recovered, err := newRunner(t, opts).Recover(t.Context())
		if err != nil || len(recovered) != 1 || recovered[0].Err != nil {
			t.Fatalf("%v, %v", recovered, err)
		}
		if r := recovered[0].Result; r.Text != "done" || r.Usage.OutputTokens != 5 || r.Cost != 5*selvage.Dollar || m.prefixes[1] != "" {
			t.Errorf("%+v, prefix %q", r, m.prefixes[1])
		}
		if c := store.left(t, "t"); c != nil {
			t.Errorf("left %+v", c)
		}
	})
}

// A run that is ended because nobody goes on with it is booked what its last
// answer had cost.
func TestAbandonedAnswerIsBooked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := newSpy()
		store := newKeeping(inner)
		price := model.Price{Output: 1_000_000 * selvage.Dollar}
		m := &scripted{streams: [][]any{{text("Once upon a time"), 2 * time.Second, time.Hour}}}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(1500*time.Millisecond, func() {
			store.die()
			cancel()
		})
		if _, err := newRunner(t, runner.Options{Store: store, Model: m, Price: &price}).Run(ctx, "t", runner.Text("hi")); err == nil {
			t.Fatal("it did not die")
		}
		mustRun(t, newRunner(t, runner.Options{Store: newKeeping(inner)}), "t", "hi")
		page, err := inner.Runs(t.Context(), selvage.RunQuery{Order: selvage.Ascending})
		if err != nil || len(page.Items) != 2 {
			t.Fatal(page, err)
		}
		if r := page.Items[0]; r.Outcome.Code != runner.CodeAbandoned || r.Cost != 4*selvage.Dollar {
			t.Errorf("%+v", r)
		}
		if _, err := store.inner.Get(t.Context(), "t", page.Items[0].ID); err == nil {
			t.Error("its checkpoint is left")
		}
	})
}

// What a failed attempt has used is kept before the wait for the next one,
// which may be long.
func TestCrashWhileItWaitsToAskAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := newSpy()
		store := newKeeping(inner)
		price := model.Price{Output: 1_000_000 * selvage.Dollar}
		m := &scripted{streams: [][]any{{tokens(3), failing(model.Transient)}}}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Second, func() {
			store.die()
			cancel()
		})
		opts := runner.Options{Store: store, Model: m, Price: &price, Retry: runner.Retry{Initial: time.Minute, Max: time.Minute}}
		if _, err := newRunner(t, opts).Run(ctx, "t", runner.Text("hi")); err == nil {
			t.Fatal("it did not die")
		}
		opts.Store = newKeeping(inner)
		m.streams = [][]any{{text("ok"), tokens(1), stop}}
		recovered, err := newRunner(t, opts).Recover(t.Context())
		if err != nil || len(recovered) != 1 || recovered[0].Err != nil {
			t.Fatalf("%v, %v", recovered, err)
		}
		if r := recovered[0].Result; r.Text != "ok" || r.Cost != 4*selvage.Dollar {
			t.Errorf("%+v", r)
		}
	})
}
