package runner_test

import (
	"context"
	"errors"
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

// scripted is a model that answers each request with the next of its streams.
type scripted struct {
	streams  [][]any // model.Chunk, error or time.Duration
	attempts []int
	prefixes []string
	times    []time.Time
}

func (*scripted) Name() string { return "test/scripted" }

func (m *scripted) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		m.attempts, m.times = append(m.attempts, req.Attempt), append(m.times, time.Now())
		m.prefixes = append(m.prefixes, req.Prefix)
		next := m.streams[0]
		m.streams = m.streams[1:]
		for _, step := range next {
			switch step := step.(type) {
			case time.Duration:
				if !passes(ctx, step) {
					yield(model.Chunk{}, model.Ended(ctx))
					return
				}
			case error:
				yield(model.Chunk{}, step)
				return
			case model.Chunk:
				if !yield(step, nil) {
					return
				}
			}
		}
	}
}

func text(s string) model.Chunk   { return model.Chunk{Text: s} }
func tokens(n int64) model.Chunk  { return model.Chunk{Usage: &selvage.Usage{OutputTokens: n}} }
func failing(c model.Class) error { return &model.Error{Class: c, Err: errors.New("scripted")} }
func call(name, args string) model.Chunk {
	return model.Chunk{ToolCall: &selvage.ToolCall{ID: "1", Name: name, Arguments: []byte(args)}}
}

var stop = model.Chunk{Finish: model.FinishStop}

// A failure that may pass is tried again, as patiently as the provider asks;
// what failed attempts used is booked, and a turn is counted once.
func TestRetry(t *testing.T) {
	t.Parallel()
	later := &model.Error{Class: model.RateLimited, RetryAfter: 30 * time.Second, Err: errors.New("scripted")}
	never := &model.Error{Class: model.RateLimited, RetryAfter: time.Hour, Err: errors.New("scripted")}
	tests := []struct {
		name    string
		streams [][]any
		waits   []float64 // seconds at least, at most 1.5 times
		code    string    // of the failure
		tokens  int64
	}{
		{"passes", [][]any{{failing(model.Transient)}, {text("ok"), tokens(2), stop}}, []float64{0.4}, "", 2},
		{"cut in the middle", [][]any{{text("o"), tokens(1), failing(model.Cut)}, {text("k"), tokens(2), stop}}, []float64{0.4}, "", 3},
		{"ends without saying so", [][]any{{text("o")}, {}, {text("k"), tokens(2), stop}}, []float64{0.4, 0.8}, "", 3},
		{"asks for patience", [][]any{{later}, {text("ok"), stop}}, []float64{30}, "", 0},
		{"asks for too much", [][]any{{never}}, nil, "rate_limited", 0},
		{"permanent", [][]any{{failing(model.Permanent)}}, nil, "permanent", 0},
		{"unclassified", [][]any{{errors.New("what?")}}, nil, "permanent", 0},
		{"never passes", [][]any{{failing(model.Transient)}, {failing(model.Transient)}, {failing(model.Transient)}, {tokens(5), failing(model.RateLimited)}},
			[]float64{0.4, 0.8, 1.6}, "rate_limited", 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m, store := &scripted{streams: tt.streams}, newSpy()
				price := model.Price{Output: selvage.Dollar * 1_000_000}
				r := newRunner(t, runner.Options{Store: store, Model: m, Price: &price})
				retries, texts := 0, ""
				var result runner.Result
				var failed error
				for e, err := range r.Stream(t.Context(), "t", runner.Text("hi")) {
					switch {
					case err != nil:
						failed = err
					case e.Kind == runner.EventRetry:
						retries, texts = retries+1, ""
					case e.Kind == runner.EventContinue:
						retries++
					case e.Kind == runner.EventDelta:
						texts += e.Text
					case e.Result != nil:
						result = *e.Result
					}
				}
				if result.Outcome.Code != tt.code || (failed == nil) != (tt.code == "") {
					t.Errorf("outcome %v, error %v", result.Outcome, failed)
				}
				if tt.code == "" && (result.Text != "ok" || texts != "ok" || result.Steps != 1) {
					t.Errorf("answer %q, deltas since the last retry %q, %d steps", result.Text, texts, result.Steps)
				}
				if result.Usage.OutputTokens != tt.tokens || result.Cost != selvage.Dollar*selvage.Money(tt.tokens) {
					t.Errorf("usage %v, cost %v; want %d tokens", result.Usage, result.Cost, tt.tokens)
				}
				if len(m.times) != len(tt.waits)+1 || retries != len(tt.waits) {
					t.Fatalf("%d attempts, %d told; want %d", len(m.times), retries, len(tt.waits)+1)
				}
				for i, want := range tt.waits {
					got := m.times[i+1].Sub(m.times[i]).Seconds()
					if got < want-1e-9 || got > 1.5*want || m.attempts[i+1] != i+1 {
						t.Errorf("attempt %d (%d) after %.2fs, want %.2fs", i+1, m.attempts[i+1], got, want)
					}
				}
				page, err := store.Runs(t.Context(), selvage.RunQuery{})
				if err != nil || page.Items[0].Usage != result.Usage || page.Items[0].Cost != result.Cost {
					t.Errorf("recorded %+v, %v", page.Items, err)
				}
				checkChain(t, store, "t")
			})
		})
	}
}

// Calls get ids of their own, so that a provider that counts from one each time
// does not make two calls of a thread one.
func TestCallIDs(t *testing.T) {
	t.Parallel()
	turn := []any{call("echo", `{"text":"a"}`), stop}
	m, store := &scripted{streams: [][]any{turn, turn, {text("ok"), stop}}}, newSpy()
	mustRun(t, newRunner(t, runner.Options{Store: store, Model: m, Tools: []tool.Tool{echoTool("echo", selvage.EffectOnce)}}), "t", "hi")
	checkChain(t, store, "t")
}

// The id of a call begins as the provider's does, if that can be kept, and is
// not longer than any provider takes.
func TestCallIDsAreRecognised(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"toolu_01A09q90qw90lq917835lq9": "toolu_01A09q90qw90l_",
		"c-1":                           "c-1_",
		"":                              "call_",
		"two words":                     "call_",
		"\xff":                          "call_",
		"caf\u00e9":                     "call_",
	} {
		c := call("echo", `{"text":"a"}`)
		c.ToolCall.ID = given
		m, store := &scripted{streams: [][]any{{c, stop}, {text("ok"), stop}}}, newSpy()
		mustRun(t, newRunner(t, runner.Options{Store: store, Model: m, Tools: []tool.Tool{echoTool("echo", selvage.EffectNone)}}), "t", "hi")
		id := load(t, store, "t").Messages[1].ToolCalls[0].ID
		if !strings.HasPrefix(id, want) || len(id) != len(want)+20 || len(id) > 40 {
			t.Errorf("%q became %q, want %s and 20 digits", given, id, want)
		}
	}
}

// A loop goes on although the message that asked for it has left the window.
func TestLoopBeyondTheWindow(t *testing.T) {
	t.Parallel()
	store, ran := newSpy(), &atomic.Int32{}
	r := newRunner(t, runner.Options{Store: store, MaxTurns: 400, Tools: []tool.Tool{counted(selvage.EffectNone, ran)}})
	if result := mustRun(t, r, "t", "loop 150 count {}"); result.Text != "Done." || ran.Load() != 150 {
		t.Errorf("answer %q after %d calls", result.Text, ran.Load())
	}
}

// What a model gets wrong goes back to it.
func TestBadCalls(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`"not an object"`:              "the arguments of echo are not valid:\n- arguments: they must be one JSON object, not string",
		`{}`:                           "the arguments of echo are not valid:\n- arguments: missing property 'text'",
		`{"text":1,"more":2}`:          "the arguments of echo are not valid:\n- arguments: additional properties 'more' not allowed\n- /text: got number, want string",
		`{"text":"a","text":"b"}`:      "the arguments of echo are not valid:\n- arguments: invalid JSON at byte",
		"{\"text\":\"\xff\"}":          "the arguments of echo are not valid:\n- arguments: they must be one JSON object, not string",
		`{"text":`:                     "the arguments of echo are not valid:\n- arguments: they must be one JSON object, not string",
		`{"text":"fine"}`:              "fine",
		`{"text":"9007199254740993 "}`: "9007199254740993 ",
	} {
		m, store := &scripted{streams: [][]any{{call("echo", args), stop}, {text("ok"), stop}}}, newSpy()
		mustRun(t, newRunner(t, runner.Options{Store: store, Model: m, Tools: []tool.Tool{echoTool("echo", selvage.EffectOnce)}}), "t", "hi")
		if got := load(t, store, "t").Messages[2].Text(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: result %q, want %q", args, got, want)
		}
		checkChain(t, store, "t")
	}
}

// A call of no name is answered too.
func TestNamelessCall(t *testing.T) {
	t.Parallel()
	m, store := &scripted{streams: [][]any{{call("", "{}"), stop}, {text("ok"), stop}}}, newSpy()
	mustRun(t, newRunner(t, runner.Options{Store: store, Model: m}), "t", "hi")
	if got := load(t, store, "t").Messages[2].Text(); got != `there is no tool "unnamed"` {
		t.Errorf("result %q", got)
	}
}

// How an answer ended is part of the outcome if it is not complete.
func TestFinishReasons(t *testing.T) {
	t.Parallel()
	for finish, code := range map[model.Finish]string{model.FinishStop: "", model.FinishContentFilter: runner.CodeFilter} {
		m := &scripted{streams: [][]any{{text("ok"), model.Chunk{Finish: finish}}}}
		result, err := newRunner(t, runner.Options{Model: m}).Ask(t.Context(), runner.Text("hi"))
		if err != nil || result.Outcome.Kind != selvage.OutcomeCompleted || result.Outcome.Code != code || result.Text != "ok" {
			t.Errorf("%s: %+v, %v", finish, result, err)
		}
	}
}
