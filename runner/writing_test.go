package runner_test

import (
	"context"
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

func writes(id, name, arguments string) model.Chunk {
	return model.Chunk{Writing: &selvage.PartialCall{ID: id, Name: name, Arguments: arguments}}
}

// A call that was being written when the answer broke off is kept and paid for
// as far as it came, and the answer is asked for anew.
func TestCutInsideACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newKeeping(newSpy())
		m := &scripted{streams: [][]any{
			{text("I will"), call("echo", `{"text":"a"}`), writes("2", "echo", `{"te`), writes("", "", `xt":"\xff`), 2 * time.Second, failing(model.Cut)},
			{text("ok"), stop}}}
		h := listen(t, newRunner(t, runner.Options{Store: store, Model: m, Tools: echoTools()}).Stream(t.Context(), "t", runner.Text("hi")))
		if h.result.Text != "ok" || h.retries != 1 || h.goesOn != 0 || m.prefixes[1] != "" {
			t.Errorf("%+v, prefixes %q", h, m.prefixes)
		}
		written := store.written()
		if len(written) == 0 {
			t.Fatal("nothing was kept")
		}
		c := written[0]
		if c.InFlight == nil || *c.InFlight != (selvage.PartialCall{ID: "2", Name: "echo", Arguments: `{"text":"\xff`}) || len(c.Calls) != 1 || c.Text != "I will" {
			t.Errorf("kept %+v, %+v", c, c.InFlight)
		}
		if c.Usage.OutputTokens != 10 { // 6 characters, 16 of the call, 17 of the other
			t.Errorf("usage %v", c.Usage)
		}
		m.streams = [][]any{{text("I will"), writes("1", "echo", `{}`), failing(model.Cut)}, {text("ok"), stop}}
		if h := listen(t, newRunner(t, runner.Options{Store: store, Model: m}).Stream(t.Context(), "u", runner.Text("hi"))); h.result.Text != "ok" || h.retries != 1 {
			t.Errorf("%+v", h)
		}
	})
}

// A call that the token limit cut off is not run, and the model is told why. A
// call that was complete is run.
func TestHalfWrittenCall(t *testing.T) {
	t.Parallel()
	for args, runs := range map[string]int32{`{}`: 0, ``: 0, `{"n":`: 0, `{"n":1}`: 1, `[]`: 0} {
		ran, store := &atomic.Int32{}, newSpy()
		count := tool.Func("count", "", func(context.Context, map[string]any) (string, error) {
			ran.Add(1)
			return "ok", nil
		}, tool.Options{Effect: selvage.EffectNone})
		m := &scripted{streams: [][]any{{call("count", args), atLimit}, {text("ok"), stop}}}
		result := mustRun(t, newRunner(t, runner.Options{Store: store, Model: m, Tools: []tool.Tool{count}}), "t", "hi")
		text := transcript(load(t, store, "t").Messages)
		if told := strings.Contains(text, "(system): [The token limit cut your answer off in its call of count, which was not run."); told == (runs > 0) || ran.Load() != runs {
			t.Errorf("arguments %q: ran %d times, told %v\n%s", args, ran.Load(), told, text)
		}
		if result.Text != "ok" || result.Outcome.Code != "" {
			t.Errorf("%+v", result)
		}
		checkChain(t, store, "t")
	}
}

// Who goes on with a run may say what becomes of its interrupted answer. What
// it cost is booked before its limits are looked at, and once.
func TestResumeAnInterruptedAnswer(t *testing.T) {
	t.Parallel()
	for mode, want := range map[runner.OnPartial]string{"": "Once upon a time, there", runner.Restart: ", there"} {
		synctest.Test(t, func(t *testing.T) {
			inner := newSpy()
			store := newKeeping(inner)
			price := model.Price{Output: 1_000_000 * selvage.Dollar}
			m := &scripted{streams: [][]any{{text("Once upon a time"), tokens(4), 2 * time.Second, time.Hour}}}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(1500*time.Millisecond, func() {
				store.die()
				cancel()
			})
			opts := runner.Options{Store: store, Model: m, Price: &price}
			in := runner.Text("hi")
			in.RunID = "r"
			if _, err := newRunner(t, opts).Run(ctx, "t", in); err == nil {
				t.Fatal("it did not die")
			}
			opts.Store = newKeeping(inner)
			r := newRunner(t, opts)
			if _, err := r.Resume(t.Context(), "r", runner.ResumeOptions{Partial: "maybe"}); err == nil || !strings.Contains(err.Error(), "use continue or restart") {
				t.Errorf("error %v", err)
			}
			m.streams = [][]any{{text(", there"), tokens(3), stop}}
			h := listen(t, r.ResumeStream(t.Context(), "r", runner.ResumeOptions{Partial: mode}))
			if h.failed != nil || h.result.Text != want || h.text != want || h.result.Cost != 7*selvage.Dollar {
				t.Errorf("%q: %+v", mode, h)
			}
		})
	}
}

// A rule that ends a run in the middle of an answer leaves what had come, and
// counts it.
func TestTimeoutInTheMiddleOfAnAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newKeeping(newSpy())
		price := model.Price{Output: 1_000_000 * selvage.Dollar}
		m := &scripted{streams: [][]any{{text("Once upon a time"), tokens(4), time.Hour}}}
		timeout := 3 * time.Second
		result := mustRun(t, newRunner(t, runner.Options{Store: store, Model: m, Price: &price, Stop: selvage.StopRules{Timeout: &timeout}}), "t", "hi")
		if result.Outcome.Kind != selvage.OutcomeStopped || result.Cost != 4*selvage.Dollar {
			t.Fatalf("%+v", result)
		}
		if c := store.left(t, "t"); c == nil || c.Text != "Once upon a time" || c.Cost != result.Cost {
			t.Errorf("left %+v", c)
		}
	})
}
