package runner_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/tool"
)

type putIn struct {
	At string `json:"at"`
	N  int64  `json:"n"`
}

// put is a tool that sets a number in the state and says what it saw there.
// All its calls meet before they go on, if there is somewhere to meet.
func put(name string, effect selvage.Effect, meet func()) tool.Tool {
	opts := tool.Options{Effect: effect}
	if effect == selvage.EffectOnce {
		opts.OnUnknown = tool.FailUnknown
	}
	return tool.New(name, "", func(_ context.Context, c *tool.Call, in putIn) (string, error) {
		if meet != nil {
			meet()
		}
		saw := c.Before.String()
		return "saw " + saw, c.Patch(state.Set(state.Pointer(in.At), state.Int(in.N)))
	}, opts)
}

// meeting returns a func that returns when n have called it.
func meeting(n int) func() {
	var all sync.WaitGroup
	all.Add(n)
	return func() {
		all.Done()
		all.Wait()
	}
}

// Calls that run together see the same state, and what they change is taken in
// their order; of two that contradict each other the later one fails, and says
// with whom.
func TestTogether(t *testing.T) {
	t.Parallel()
	for _, mode := range []selvage.ToolCalls{selvage.ToolCallsParallel, selvage.ToolCallsBatch} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			store := newSpy()
			r := newRunner(t, runner.Options{Store: store, ToolCalls: mode, Tools: []tool.Tool{put("put", selvage.EffectNone, meeting(3))}})
			result := mustRun(t, r, "t", `call put {"at":"/a","n":1} && put {"at":"/b","n":2} && put {"at":"/a/c","n":3}`)
			parts := strings.Split(strings.TrimPrefix(result.Text, "Done: "), "; ")
			if len(parts) < 3 || parts[0] != "saw {}" || parts[1] != "saw {}" {
				t.Fatalf("answer %q", result.Text)
			}
			head := load(t, store, "t")
			if got := head.State.String(); got != `{"a":1,"b":2}` {
				t.Errorf("state %s", got)
			}
			calls := head.Messages[1].ToolCalls
			last := head.Messages[4].Text()
			for _, want := range []string{"put ran, but", calls[0].ID, calls[2].ID, `prefix conflict at "/a"`} {
				if !strings.Contains(last, want) {
					t.Errorf("the loser says %q, not %q", last, want)
				}
			}
			if want := "\ntool_results_committed: tool, tool, tool, patch tool:put, patch tool:put\n"; !strings.Contains(store.schedule(), want) {
				t.Errorf("the calls are not recorded together:\n%s", store.schedule())
			}
			checkComplete(t, store, "t")
			verify(t, store, "t")
		})
	}
}

// In sequence, a call sees what the one before it changed.
func TestInTurn(t *testing.T) {
	t.Parallel()
	store := newSpy()
	r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{put("put", selvage.EffectNone, nil)}})
	if got, want := mustRun(t, r, "t", `call put {"at":"/a","n":1} && put {"at":"/a","n":2}`).Text, `Done: saw {}; saw {"a":1}`; got != want {
		t.Errorf("answer %q, want %q", got, want)
	}
}

// What a call of effect once did is recorded as soon as it has, though others
// still run; it is not the loser of one that ends after it.
func TestTogetherOnce(t *testing.T) {
	t.Parallel()
	store, recorded := newSpy(), make(chan struct{})
	store.after = func(_ int, set *selvage.ChangeSet) error {
		if len(set.Calls) == 1 && set.Calls[0].Status == selvage.CallSucceeded {
			close(recorded)
		}
		return nil
	}
	slow := put("slow", selvage.EffectNone, func() { <-recorded })
	r := newRunner(t, runner.Options{Store: store, ToolCalls: selvage.ToolCallsParallel, Tools: []tool.Tool{slow, put("once", selvage.EffectOnce, nil)}})
	result := mustRun(t, r, "t", `call slow {"at":"/a","n":1} && once {"at":"/a","n":2}`)
	if !strings.HasPrefix(result.Text, "Done: slow ran, but") || !strings.HasSuffix(result.Text, "; saw {}") {
		t.Errorf("answer %q", result.Text)
	}
	if got := load(t, store, "t").State.String(); got != `{"a":2}` {
		t.Errorf("state %s", got)
	}
	checkComplete(t, store, "t")
}

// A tool that fails, or is not there, does not touch the others.
func TestTogetherFailures(t *testing.T) {
	t.Parallel()
	bad := tool.Func("bad", "", func(context.Context, struct{}) (string, error) { panic("ouch") }, tool.Options{Effect: selvage.EffectNone})
	r := newRunner(t, runner.Options{Store: newSpy(), ToolCalls: selvage.ToolCallsParallel, Tools: []tool.Tool{bad, put("put", selvage.EffectNone, nil)}})
	result := mustRun(t, r, "t", `call bad {} && put {"at":"/a","n":1} && nothing {} && put {"at":7}`)
	for _, want := range []string{"bad crashed: ouch; saw {}; there is no tool \"nothing\"", "the arguments of put are not valid"} {
		if !strings.Contains(result.Text, want) {
			t.Errorf("answer %q, not %q", result.Text, want)
		}
	}
}

// More calls than may run at once all run.
func TestTogetherMany(t *testing.T) {
	t.Parallel()
	var now, most atomic.Int32
	busy := tool.Func("busy", "", func(context.Context, struct{}) (string, error) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		defer now.Add(-1)
		return "", nil
	}, tool.Options{Effect: selvage.EffectNone})
	m := &scripted{streams: [][]any{make([]any, 0, 101), {text("ok"), stop}}}
	for range 100 {
		m.streams[0] = append(m.streams[0], call("busy", "{}"))
	}
	m.streams[0] = append(m.streams[0], stop)
	store := newSpy()
	mustRun(t, newRunner(t, runner.Options{Store: store, Model: m, ToolCalls: selvage.ToolCallsParallel, Tools: []tool.Tool{busy}}), "t", "hi")
	if n := len(load(t, store, "t").Messages); n != 103 || most.Load() > 32 {
		t.Errorf("%d messages, %d at once", n, most.Load())
	}
}

// A turn with one tool costs five commits, six if hooks are asked before a tool
// of effect once.
func TestCommitsOfATurnWithHooks(t *testing.T) {
	t.Parallel()
	nothing := selvage.Hook{Name: "h", BeforeTool: func(context.Context, selvage.Scene) (selvage.Effects, error) { return selvage.Effects{}, nil }}
	for _, mode := range []selvage.ToolCalls{"", selvage.ToolCallsParallel} {
		for _, effect := range []selvage.Effect{selvage.EffectNone, selvage.EffectOnce} {
			for hooks, want := range map[int]int{0: 5, 1: 5} {
				if hooks == 1 && effect == selvage.EffectOnce {
					want = 6
				}
				store := newSpy()
				mustRun(t, newRunner(t, runner.Options{Store: store, ToolCalls: mode, Hooks: []selvage.Hook{nothing}[:hooks],
					Tools: []tool.Tool{echoTool("echo", effect)}}), "t", oneCall)
				if n := len(store.appended()); n != want {
					t.Errorf("%s, %d hooks, mode %q: %d commits, want %d:\n%s", effect, hooks, mode, n, want, store.schedule())
				}
			}
		}
	}
}
