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
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/tool"
)

// answering is a once tool that answers with content and counts its runs.
func answering(name string, content selvage.Content, ran *atomic.Int32) tool.Tool {
	return tool.Func(name, "", func(context.Context, struct{}) (selvage.Content, error) {
		ran.Add(1)
		return content, nil
	}, tool.Options{Effect: selvage.EffectOnce, OnUnknown: tool.FailUnknown})
}

// What no store would take of a result is replaced by text that says so. The
// call has succeeded, and the run goes on.
func TestUnstorableParts(t *testing.T) {
	t.Parallel()
	fine := selvage.Part{Type: selvage.PartText, Text: "fine"}
	tests := map[string]struct {
		part selvage.Part
		want string // in the text of the result; none if the part is kept
	}{
		"data":                    {selvage.Part{Type: selvage.PartData, Value: json.RawMessage(`{"a":[1]}`)}, ""},
		"blob":                    {selvage.Part{Type: selvage.PartImage, Blob: strings.Repeat("a", 64)}, ""},
		"data without a value":    {selvage.Part{Type: selvage.PartData}, "its value is not valid JSON"},
		"data of bad JSON":        {selvage.Part{Type: selvage.PartData, Value: json.RawMessage("{oops")}, "its value is not valid JSON"},
		"data that is not UTF-8":  {selvage.Part{Type: selvage.PartData, Value: json.RawMessage("\"\xff\"")}, "its value is not valid JSON"},
		"data of great size":      {selvage.Part{Type: selvage.PartData, Value: json.RawMessage(`"` + strings.Repeat("x", 2<<20) + `"`)}, "a part of type data could not be recorded: it takes"},
		"text with a bad value":   {selvage.Part{Type: selvage.PartText, Value: json.RawMessage("{oops")}, "a value that is not valid JSON"},
		"no type":                 {selvage.Part{Text: "hi"}, `"" is not a type of content`},
		"a type nobody knows":     {selvage.Part{Type: "vi\xffdeo"}, "is not a type of content"},
		"an image of nothing":     {selvage.Part{Type: selvage.PartImage}, "either data or a blob"},
		"a file of both":          {selvage.Part{Type: selvage.PartFile, Data: []byte{1}, Blob: "b"}, "either data or a blob"},
		"a file of great size":    {selvage.Part{Type: selvage.PartFile, Data: make([]byte, 9<<20)}, "a part of type file could not be recorded: it takes"},
		"a name of great size":    {selvage.Part{Type: selvage.PartFile, Data: []byte{1}, Name: strings.Repeat("x", 2<<20)}, "could not be recorded: it takes"},
		"a name that is no UTF-8": {selvage.Part{Type: selvage.PartFile, Data: []byte{1}, Name: "\xff"}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, ran := newSpy(), &atomic.Int32{}
			r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{answering("pay", selvage.Content{fine, tt.part, fine}, ran)}})
			mustRun(t, r, "t", "call pay {}")
			m := load(t, store, "t").Messages[2]
			kept := len(m.Content) == 3 && !strings.Contains(m.Text(), "could not be recorded")
			if text := m.Text(); ran.Load() != 1 || kept != (tt.want == "") || !strings.Contains(text, tt.want) || !strings.HasPrefix(text, "fine") || !strings.HasSuffix(text, "fine") {
				t.Errorf("the tool ran %d times, the second of %d parts is %v kept, text %.200q; want %q", ran.Load(), len(m.Content), kept, text, tt.want)
			}
			if len(m.Metadata) != 0 {
				t.Errorf("the result is marked %v", m.Metadata)
			}
			if calls := store.appended()[2].set.Calls; len(calls) != 1 || calls[0].Status != selvage.CallSucceeded {
				t.Errorf("calls %v, want one that succeeded", calls)
			}
			checkChain(t, store, "t")
		})
	}
}

// Results that could each be recorded do not become too much together, however
// their JSON grows.
func TestManyGreatResults(t *testing.T) {
	t.Parallel()
	for name, out := range map[string]string{"plain": strings.Repeat("x", 1<<20), "escapes": strings.Repeat("\x01", 2<<20), "quotes": strings.Repeat(`"`, 2<<20),
		"parts": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content := selvage.Text(out)
			if out == "" {
				for range 1 << 16 {
					content = append(content, content[0])
				}
			}
			store := newSpy()
			great := tool.Func("great", "", func(context.Context, struct{}) (selvage.Content, error) { return content, nil },
				tool.Options{Effect: selvage.EffectNone})
			m := &scripted{streams: [][]any{{}, {text("ok"), stop}}}
			for range 20 {
				m.streams[0] = append(m.streams[0], call("great", `{}`))
			}
			m.streams[0] = append(m.streams[0], stop)
			mustRun(t, newRunner(t, runner.Options{Store: store, Model: m, Tools: []tool.Tool{great}}), "t", "hi")
			for i, a := range store.appended() {
				data, err := json.Marshal(a.set)
				if err != nil || len(data) > selvage.MaxSetBytes*3/4 {
					t.Errorf("change %d has %d bytes, %v", i+1, len(data), err)
				}
			}
			checkComplete(t, store, "t")
		})
	}
}

// More calls than one change has messages are recorded in several.
func TestManyResults(t *testing.T) {
	t.Parallel()
	store, ran := newSpy(), &atomic.Int32{}
	m := &scripted{streams: [][]any{{}, {text("ok"), stop}}}
	const calls = selvage.MaxSetMessages + 1
	for range calls {
		m.streams[0] = append(m.streams[0], call("count", `{}`))
	}
	m.streams[0] = append(m.streams[0], stop)
	mustRun(t, newRunner(t, runner.Options{Store: store, Model: m, Tools: []tool.Tool{counted(selvage.EffectNone, ran)}}), "t", "hi")
	if ran.Load() != calls {
		t.Errorf("the tool ran %d times", ran.Load())
	}
	checkComplete(t, store, "t")
}

// What the store refuses is dropped, but not that a call is over and what it
// came to.
func TestRefusedDelta(t *testing.T) {
	t.Parallel()
	store := newSpy()
	pay := tool.New("pay", "", func(_ context.Context, c *tool.Call, _ struct{}) (string, error) {
		return "paid " + strings.Repeat("x", 100_000), c.Patch(state.Set("/receipt", state.String(strings.Repeat("x", 9<<20))))
	}, tool.Options{Effect: selvage.EffectOnce, OnUnknown: tool.FailUnknown})
	r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{pay}})
	_, err := r.Run(t.Context(), "t", runner.Text("call pay {}"))
	var failed *runner.FailedError
	if !errors.Is(err, selvage.ErrTooLarge) || !errors.As(err, &failed) || failed.Outcome.Code != "too_large" {
		t.Errorf("error %v, want too large", err)
	}
	if text := transcript(load(t, store, "t").Messages); !strings.Contains(text, "tool: paid xxx") || strings.Contains(text, "unknown") {
		t.Errorf("the call succeeded, which must be said:\n%.1000s", text)
	}
	took := store.appended()
	if calls := took[len(took)-1].set.Calls; len(calls) != 1 || calls[0].Status != selvage.CallSucceeded {
		t.Errorf("calls %v, want one that succeeded", calls)
	}
	checkChain(t, store, "t")
}
