package openai_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
)

func TestStreamingText(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		send(w, delta(`"role":"assistant","content":""`), delta(`"reasoning_content":"hm "`))
		fmt.Fprint(w, ": keep-alive\n\nevent: message\r\ndata: "+delta(`"reasoning":"yes","content":null`)+"\r\n\r\n")
		send(w, text("Héllo"), text(" wor"), text("ld\n"), delta(`"refusal":"no"`), finish("stop"), usage, done)
	})
	var got []string
	for c, err := range s.model(t).Stream(t.Context(), hello) {
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case c.Usage != nil:
			got = append(got, fmt.Sprintf("usage %+v", *c.Usage))
		case c.Reasoning != "":
			got = append(got, "reasoning "+c.Reasoning)
		case c.Text != "":
			got = append(got, "text "+c.Text)
		default:
			got = append(got, "finish "+string(c.Finish))
		}
	}
	want := []string{
		"reasoning hm ", "reasoning yes", "text Héllo", "text  wor", "text ld\n", "text no",
		"usage {InputTokens:11 OutputTokens:7 CachedTokens:5 CacheWriteTokens:0 ReasoningTokens:3}", "finish stop",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("chunks (-want +got):\n%s", diff)
	}
}

func TestAnswerEnds(t *testing.T) {
	t.Parallel()
	call := delta(`"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"clock","arguments":"{}"}}]`)
	tests := map[string]struct {
		frames []string
		finish model.Finish
		calls  int
	}{
		"stop":                      {[]string{text("a"), finish("stop"), usage, done}, model.FinishStop, 0},
		"length":                    {[]string{text("a"), finish("length"), usage, done}, model.FinishLength, 0},
		"content filter":            {[]string{text("a"), finish("content_filter"), usage, done}, model.FinishContentFilter, 0},
		"tool calls":                {[]string{call, finish("tool_calls"), usage, done}, model.FinishToolCalls, 1},
		"calls that end in stop":    {[]string{call, finish("stop"), usage, done}, model.FinishToolCalls, 1},
		"tool calls without a call": {[]string{text("a"), finish("tool_calls"), usage, done}, model.FinishStop, 0},
		"a reason of its own":       {[]string{text("a"), finish("eos"), usage, done}, model.FinishStop, 0},
		"length within a call":      {[]string{call, finish("length"), usage, done}, model.FinishLength, 1},
		"nothing said":              {[]string{finish("stop"), usage, done}, model.FinishStop, 0},
		"usage before the finish":   {[]string{text("a"), usage, finish("stop"), done}, model.FinishStop, 0},
		"no end marker":             {[]string{text("a"), finish("stop"), usage}, model.FinishStop, 0},
		"other choices are ignored": {[]string{strings.Replace(text("no"), `"index":0`, `"index":1`, 1), finish("stop"), usage, done}, model.FinishStop, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ask(t, serve(t, frames(tt.frames...)).model(t))
			if err != nil {
				t.Fatal(err)
			}
			if got.Finish != tt.finish || len(got.Message.ToolCalls) != tt.calls {
				t.Errorf("finish %q with %d calls, want %q with %d", got.Finish, len(got.Message.ToolCalls), tt.finish, tt.calls)
			}
			if got.Usage.InputTokens != 11 {
				t.Errorf("usage %+v, want what was reported", got.Usage)
			}
			if said := got.Message.Text(); strings.Contains(said, "no") {
				t.Errorf("it said %q", said)
			}
		})
	}
}

func TestAnswerWithoutUsage(t *testing.T) {
	t.Parallel()
	for c, err := range serve(t, frames(text("a"), finish("stop"), done)).model(t).Stream(t.Context(), hello) {
		if err != nil || c.Usage != nil {
			t.Errorf("chunk %+v, error %v; want no usage", c, err)
		}
	}
}

// piece is a frame with a piece of a tool call.
func piece(fields string) string { return delta(`"tool_calls":[{` + fields + `}]`) }

func TestToolCalls(t *testing.T) {
	t.Parallel()
	fresh := "(fresh)"
	tests := map[string]struct {
		frames []string
		want   []selvage.ToolCall
	}{
		"one in pieces": {
			[]string{
				piece(`"index":0,"id":"call_1","type":"function","function":{"name":"note","arguments":""}`),
				piece(`"index":0,"function":{"arguments":"{\"n\":90071992"}`), piece(`"index":0,"function":{"arguments":"54740993}"}`),
			},
			[]selvage.ToolCall{{ID: "call_1", Name: "note", Arguments: json.RawMessage(`{"n":9007199254740993}`)}},
		},
		"parallel and interleaved": {
			[]string{
				piece(`"index":1,"id":"b","type":"function","function":{"name":"two","arguments":"{\"x\""}`),
				piece(`"index":0,"id":"a","type":"function","function":{"name":"one","arguments":"{"}`),
				delta(`"tool_calls":[{"index":1,"function":{"arguments":":2"}},{"index":0,"function":{"arguments":"}"}}]`),
				piece(`"index":1,"function":{"arguments":"}"}`),
			},
			[]selvage.ToolCall{
				{ID: "a", Name: "one", Arguments: json.RawMessage(`{}`)},
				{ID: "b", Name: "two", Arguments: json.RawMessage(`{"x":2}`)},
			},
		},
		"all numbered 0, told apart by id": {
			[]string{
				piece(`"index":0,"id":"a","function":{"name":"one","arguments":"{}"}`),
				piece(`"index":0,"id":"b","function":{"name":"one","arguments":"{\"x\":1}"}`),
			},
			[]selvage.ToolCall{
				{ID: "a", Name: "one", Arguments: json.RawMessage(`{}`)},
				{ID: "b", Name: "one", Arguments: json.RawMessage(`{"x":1}`)},
			},
		},
		"all numbered 0, without ids": {
			[]string{
				piece(`"function":{"name":"one","arguments":"{\"a\":{}"}`), piece(`"function":{"name":"one","arguments":"}"}`),
				piece(`"function":{"name":"one","arguments":"{}"}`),
			},
			[]selvage.ToolCall{
				{ID: fresh, Name: "one", Arguments: json.RawMessage(`{"a":{}}`)},
				{ID: fresh, Name: "one", Arguments: json.RawMessage(`{}`)},
			},
		},
		"name and id in every piece": {
			[]string{
				piece(`"index":0,"id":"a","function":{"name":"one","arguments":"{"}`),
				piece(`"index":0,"id":"a","function":{"name":"one","arguments":"}"}`),
			},
			[]selvage.ToolCall{{ID: "a", Name: "one", Arguments: json.RawMessage(`{}`)}},
		},
		"ids that cannot stay": {
			[]string{
				piece(`"index":0,"id":"same","function":{"name":"one","arguments":"{}"}`),
				piece(`"index":1,"id":"same","function":{"name":"one","arguments":"{}"}`),
				piece(`"index":2,"id":"a/b","function":{"name":"one","arguments":"{}"}`),
				piece(`"index":3,"id":"earlier","function":{"name":"one","arguments":"{}"}`),
				piece(`"index":4,"id":"é","function":{"name":"one","arguments":"{}"}`),
			},
			[]selvage.ToolCall{
				{ID: "same", Name: "one", Arguments: json.RawMessage(`{}`)},
				{ID: fresh, Name: "one", Arguments: json.RawMessage(`{}`)},
				{ID: fresh, Name: "one", Arguments: json.RawMessage(`{}`)},
				{ID: fresh, Name: "one", Arguments: json.RawMessage(`{}`)},
				{ID: fresh, Name: "one", Arguments: json.RawMessage(`{}`)},
			},
		},
		"arguments that are not what they should be": {
			[]string{
				piece(`"index":0,"id":"a","function":{"name":"one","arguments":""}`),
				piece(`"index":1,"id":"b","function":{"name":"one","arguments":"{\"x\":"}`),
				piece(`"index":2,"id":"c","function":{"name":"one","arguments":"\"quoted\""}`),
				piece(`"index":3,"id":"d","function":{"name":"one","arguments":"[1]"}`),
			},
			[]selvage.ToolCall{
				{ID: "a", Name: "one", Arguments: json.RawMessage(`{}`)},
				{ID: "b", Name: "one", Arguments: json.RawMessage(`"{\"x\":"`)},
				{ID: "c", Name: "one", Arguments: json.RawMessage(`"\"quoted\""`)},
				{ID: "d", Name: "one", Arguments: json.RawMessage(`[1]`)},
			},
		},
	}
	request := hello
	request.Messages = []selvage.Message{
		selvage.UserText("hello"),
		{Role: selvage.RoleAssistant, ToolCalls: []selvage.ToolCall{{ID: "earlier", Name: "one"}}},
		{Role: selvage.RoleTool, ToolCallID: "earlier", Content: selvage.Text("1")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := serve(t, frames(append(slices.Clone(tt.frames), finish("tool_calls"), usage, done)...)).model(t)
			got, err := model.Collect(m.Stream(t.Context(), request))
			if err != nil {
				t.Fatal(err)
			}
			calls := got.Message.ToolCalls
			seen := map[string]bool{"earlier": true}
			for i := range calls {
				if err := selvage.CheckID("call", calls[i].ID); err != nil || seen[calls[i].ID] {
					t.Errorf("id %q is not usable or not its own: %v", calls[i].ID, err)
				}
				seen[calls[i].ID] = true
				if i < len(tt.want) && tt.want[i].ID == fresh && strings.HasPrefix(calls[i].ID, "call_") {
					calls[i].ID = fresh
				}
			}
			if diff := cmp.Diff(tt.want, calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if _, err := json.Marshal(got.Message); err != nil {
				t.Errorf("the message has no JSON: %v", err)
			}
		})
	}
}

func TestACallWithoutANameIsAFailure(t *testing.T) {
	t.Parallel()
	got, err := ask(t, serve(t, frames(piece(`"index":0,"id":"a","function":{"arguments":"{}"}`), finish("tool_calls"), done)).model(t))
	checkError(t, err, model.Cut)
	if len(got.Message.ToolCalls) != 0 {
		t.Errorf("calls %v, want none", got.Message.ToolCalls)
	}
}
