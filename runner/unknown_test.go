package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// risky is a tool of effect once that counts how often it runs and with which
// key, and can find out what became of a call.
type risky struct {
	ran   atomic.Int32
	keys  []string
	found tool.Finding
	fail  error // of the probe
}

func (r *risky) tool(unknown selvage.OnUnknown) tool.Tool {
	return tool.New("risk", "", func(_ context.Context, c *tool.Call, _ struct{}) (string, error) {
		r.keys = append(r.keys, c.IdempotencyKey)
		r.ran.Add(1)
		return "done", nil
	}, tool.Options{Effect: selvage.EffectOnce, OnUnknown: unknown, Probe: func(context.Context, *tool.Call) (tool.Finding, selvage.ToolResult, error) {
		return r.found, tool.Text("found done"), r.fail
	}})
}

// What becomes of a call that a process had begun which is no more is what its
// tool declared; nothing is silently repeated.
func TestUnknownCalls(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		unknown selvage.OnUnknown
		found   tool.Finding
		fail    error
		ran     int32
		text    string // of the answer; empty if it asks
	}{
		"fail":                  {selvage.OnUnknownFail, "", nil, 1, "Done: risk was interrupted. Its outcome is unknown: it may or may not have taken effect, and it was not repeated."},
		"retry":                 {selvage.OnUnknownRetry, "", nil, 2, "Done: done"},
		"ask":                   {selvage.OnUnknownAsk, "", nil, 1, ""},
		"probe, happened":       {selvage.OnUnknownProbe, tool.Happened, nil, 1, "Done: found done"},
		"probe, untouched":      {selvage.OnUnknownProbe, tool.Untouched, nil, 2, "Done: done"},
		"probe, cannot tell":    {selvage.OnUnknownProbe, tool.Unresolved, nil, 1, ""},
		"probe, which fails":    {selvage.OnUnknownProbe, tool.Happened, errors.New("no line"), 1, ""},
		"probe, says gibberish": {selvage.OnUnknownProbe, "maybe", nil, 1, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, r := newSpy(), &risky{found: tt.found, fail: tt.fail}
			opts := runner.Options{Tools: []tool.Tool{r.tool(tt.unknown)}}
			die(t, store, opts, "call risk {}", 3)
			opts.Store = store
			recovered, err := newRunner(t, opts).Recover(t.Context())
			if err != nil || len(recovered) != 1 || recovered[0].Err != nil || r.ran.Load() != tt.ran {
				t.Fatalf("recovered %+v, %v; ran %d times", recovered, err, r.ran.Load())
			}
			if tt.ran == 2 && r.keys[0] != r.keys[1] {
				t.Errorf("it was run with the keys %q", r.keys)
			}
			result := recovered[0].Result
			if tt.text != "" {
				if result.Text != tt.text {
					t.Errorf("answer %q, want %q", result.Text, tt.text)
				}
				checkComplete(t, store, "t")
				return
			}
			if result.Waiting == nil || len(result.Tickets) != 1 || !strings.HasSuffix(recovered[0].String(), "was gone on with and waits for approval") {
				t.Fatalf("it does not ask: %+v: %s", result, &recovered[0])
			}
			ticket := result.Tickets[0].Ticket
			var details struct {
				Tool           string          `json:"tool"`
				Arguments      json.RawMessage `json:"arguments"`
				IdempotencyKey string          `json:"idempotency_key"`
				StartedAt      string          `json:"started_at"`
			}
			if err := json.Unmarshal(ticket.Details, &details); err != nil || !ticket.Unknown || details.Tool != "risk" ||
				details.IdempotencyKey != r.keys[0] || string(details.Arguments) != "{}" || strings.HasPrefix(details.StartedAt, "0001") {
				t.Errorf("it says %+v of what is known: %s, %v", ticket, ticket.Details, err)
			}
			if again, err := newRunner(t, opts).Recover(t.Context()); err != nil || len(again) != 0 {
				t.Errorf("recovered again: %v, %v", again, err)
			}
		})
	}
}

// What people say about a call of unknown outcome.
func TestUnknownDecided(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		d    selvage.Decision
		ran  int32
		text string
	}{
		"run it again":   {selvage.Decision{Action: selvage.DecisionResume}, 2, "Done: done"},
		"it happened":    {selvage.Decision{Action: selvage.DecisionResume, Result: json.RawMessage(`"I saw it"`)}, 1, "Done: I saw it"},
		"leave it alone": {selvage.Decision{Action: selvage.DecisionCancel, Reason: "no"}, 1, "Done: denied: no\nIt had been interrupted before: whether it took effect is unknown."},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, r := newSpy(), &risky{}
			opts := runner.Options{Tools: []tool.Tool{r.tool(selvage.OnUnknownAsk)}}
			die(t, store, opts, "call risk {}", 3)
			opts.Store = store
			recovered, err := newRunner(t, opts).Recover(t.Context())
			if err != nil || len(recovered) != 1 || recovered[0].Result.Waiting == nil {
				t.Fatalf("recovered %+v, %v", recovered, err)
			}
			decide(t, store, recovered[0].RunID, tt.d, "")
			result, err := newRunner(t, opts).Resume(t.Context(), recovered[0].RunID, runner.ResumeOptions{})
			if err != nil || result.Text != tt.text || r.ran.Load() != tt.ran {
				t.Errorf("resumed: %+v, %v; ran %d times", result, err, r.ran.Load())
			}
			if tt.ran == 2 && r.keys[0] != r.keys[1] {
				t.Errorf("it was run with the keys %q", r.keys)
			}
			checkComplete(t, store, "t")
		})
	}
}

// A call that was approved and begun by a process that is no more is asked
// about again: the approval was for one time.
func TestApprovedAndInterrupted(t *testing.T) {
	t.Parallel()
	store, ran := newSpy(), &atomic.Int32{}
	opts := runner.Options{Store: store, Tools: []tool.Tool{gated(selvage.EffectOnce, ran)}}
	waits := suspended(t, newRunner(t, opts), "t", `call deploy {"to":"prod"}`)
	decide(t, store, waits.RunID, approve, "")
	store.before = refuse(store.attempts+3, true, selvage.ErrClosed) // running, started, its result
	if _, err := newRunner(t, opts).Resume(t.Context(), waits.RunID, runner.ResumeOptions{}); !errors.Is(err, selvage.ErrClosed) || ran.Load() != 1 {
		t.Fatalf("it did not die: %v; ran %d times", err, ran.Load())
	}
	store.before = nil
	recovered, err := newRunner(t, opts).Recover(t.Context())
	if err != nil || len(recovered) != 1 || recovered[0].Result.Waiting == nil || !recovered[0].Result.Tickets[0].Ticket.Unknown || ran.Load() != 1 {
		t.Fatalf("recovered %+v, %v; ran %d times", recovered, err, ran.Load())
	}
	again, err := runner.Decide(t.Context(), store, waits.RunID, approve, "")
	if err != nil || again.Status != runner.Repeated {
		t.Errorf("the first approval again: %+v, %v", again, err)
	}
	decide(t, store, waits.RunID, selvage.Decision{ID: "yes again", Action: selvage.DecisionResume}, "")
	result, err := newRunner(t, opts).Resume(t.Context(), waits.RunID, runner.ResumeOptions{})
	if err != nil || result.Text != "Done: deployed to prod" || ran.Load() != 2 {
		t.Errorf("resumed: %+v, %v; ran %d times", result, err, ran.Load())
	}
	checkComplete(t, store, "t")
}

// The journal says of every call that ran before a suspension what came of it,
// also if the run ends otherwise: by a new run, or by being cancelled.
func TestUnknownOfAnEndedRun(t *testing.T) {
	t.Parallel()
	ends := map[string]func(t *testing.T, store *spy, opts runner.Options, id selvage.RunID){
		"by a new run": func(t *testing.T, _ *spy, opts runner.Options, _ selvage.RunID) {
			mustRun(t, newRunner(t, opts), "t", "hi")
		},
		"cancelled": func(t *testing.T, store *spy, _ runner.Options, id selvage.RunID) {
			if _, err := runner.Cancel(t.Context(), store, id, ""); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, end := range ends {
		for _, waits := range []bool{false, true} {
			store, r := newSpy(), &risky{}
			opts := runner.Options{Tools: []tool.Tool{r.tool(selvage.OnUnknownAsk)}}
			die(t, store, opts, "call risk {}", 3)
			opts.Store = store
			id := load(t, store, "t").OpenRun.ID
			if waits {
				if _, err := newRunner(t, opts).Recover(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			end(t, store, opts, id)
			if text := transcript(load(t, store, "t").Messages); strings.Count(text, "Its outcome is unknown") != 1 || r.ran.Load() != 1 {
				t.Errorf("%s, waited %v: ran %d times\n%s", name, waits, r.ran.Load(), text)
			}
			checkComplete(t, store, "t")
		}
	}
}
