package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/openai"
)

// What servers send that are only nearly compatible, as their users report it.
func TestServersOfOthers(t *testing.T) {
	t.Parallel()
	one, two := json.RawMessage(`{"x":1}`), json.RawMessage(`{"x":2}`)
	tests := map[string]struct {
		frames  []string
		text    string
		thought string
		calls   []json.RawMessage
		usage   selvage.Usage
		finish  model.Finish
	}{
		"ollama: the whole call at once, without an id, then stop, and no usage": {
			frames: []string{
				delta(`"role":"assistant","content":"","reasoning":"hm"`),
				delta(`"role":"assistant","content":"","tool_calls":[{"index":0,"type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]`),
				delta(`"role":"assistant","content":"","tool_calls":[{"index":0,"type":"function","function":{"name":"f","arguments":"{\"x\":2}"}}]`),
				finish("stop"), done},
			thought: "hm", calls: []json.RawMessage{one, two}, finish: model.FinishToolCalls,
		},
		"gemini: parallel calls in one chunk, all of index 0 and with empty ids, and usage in each": {
			frames: []string{
				`{"choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[
					{"index":0,"id":"","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},
					{"index":0,"id":"","type":"function","function":{"name":"f","arguments":"{\"x\":2}"}}]},"finish_reason":null}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}`,
				`{"choices":[{"index":0,"delta":{"role":"assistant"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":9,"total_tokens":12}}`, done},
			calls: []json.RawMessage{one, two}, usage: selvage.Usage{InputTokens: 3, OutputTokens: 9}, finish: model.FinishToolCalls,
		},
		"gemini: a chunk without choices or content": {
			frames: []string{`{"choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"choices":[{"index":0,"delta":{}}]}`, `{"object":"chat.completion.chunk"}`, finish("stop"), done},
			text:   "a", finish: model.FinishStop,
		},
		"vllm: null content, nulls in later pieces, usage with every chunk": {
			frames: []string{
				`{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":5,"total_tokens":5,"completion_tokens":0}}`,
				delta(`"reasoning_content":"hm","content":null`),
				delta(`"content":null,"tool_calls":[{"id":"chatcmpl-tool-1","type":"function","index":0,"function":{"name":"f"}}]`),
				delta(`"tool_calls":[{"id":null,"index":0,"function":{"name":null,"arguments":"{\"x\":"}}]`),
				delta(`"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]`),
				delta(`"tool_calls":[{"index":0,"function":{"arguments":null}}]`),
				`{"choices":[{"index":0,"delta":{"content":""},"logprobs":null,"finish_reason":"tool_calls","stop_reason":null}]}`,
				`{"choices":[],"usage":{"prompt_tokens":5,"total_tokens":12,"completion_tokens":7,"prompt_tokens_details":null}}`, done},
			thought: "hm", calls: []json.RawMessage{one}, usage: selvage.Usage{InputTokens: 5, OutputTokens: 7}, finish: model.FinishToolCalls,
		},
		"vllm: text together with the reason of the end": {
			frames: []string{text("a"), `{"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"length"}]}`, done},
			text:   "ab", finish: model.FinishLength,
		},
		"usage that is null until the end": {
			frames: []string{`{"choices":[{"index":0,"delta":{"content":"a"}}],"usage":null}`, finish("stop"), usage, done},
			text:   "a", usage: selvage.Usage{InputTokens: 11, OutputTokens: 7, CachedTokens: 5, ReasoningTokens: 3}, finish: model.FinishStop,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, f := range tt.frames { // a frame is one line
				tt.frames[i] = strings.ReplaceAll(f, "\n", "")
			}
			got, err := ask(t, serve(t, frames(tt.frames...)).model(t))
			if err != nil {
				t.Fatal(err)
			}
			var thought string
			for _, p := range got.Message.Content {
				if p.Type == selvage.PartReasoning {
					thought += p.Text
				}
			}
			var calls []json.RawMessage
			for _, c := range got.Message.ToolCalls {
				if calls = append(calls, c.Arguments); c.Name != "f" || selvage.CheckID("call", c.ID) != nil {
					t.Errorf("call %+v is not one of f with an id", c)
				}
			}
			if diff := cmp.Diff(tt.calls, calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if got.Message.Text() != tt.text || thought != tt.thought || got.Usage != tt.usage || got.Finish != tt.finish {
				t.Errorf("text %q, thought %q, usage %+v, finish %q; want %q, %q, %+v, %q",
					got.Message.Text(), thought, got.Usage, got.Finish, tt.text, tt.thought, tt.usage, tt.finish)
			}
		})
	}
}

// Google's models sign their calls, and want to see the signature again.
func TestGooglesSignatures(t *testing.T) {
	t.Parallel()
	s := serve(t, frames(
		delta(`"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"c2ln"}}}]`),
		delta(`"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]`), finish("stop"), done))
	got, err := ask(t, s.model(t))
	if err != nil || len(got.Message.ToolCalls) != 2 {
		t.Fatalf("answer %+v, error %v", got, err)
	}
	results := func(m selvage.Message) model.Request {
		return model.Request{Messages: []selvage.Message{selvage.UserText("hello"), m,
			{Role: selvage.RoleTool, ToolCallID: "a", Content: selvage.Text("1")}, {Role: selvage.RoleTool, ToolCallID: "b", Content: selvage.Text("2")}}}
	}
	next := serve(t, frames(finish("stop"), done))
	if _, err := model.Collect(next.model(t).Stream(t.Context(), results(got.Message))); err != nil {
		t.Fatal(err)
	}
	_, body := next.asked(t)
	if n := strings.Count(body, `"extra_content":{"google":{"thought_signature":"c2ln"}}`); n != 1 {
		t.Errorf("%d signatures in %s, want it with the first call", n, body)
	}
	// Another provider's reasoning is none of Google's.
	got.Message.Content = selvage.Content{{Type: selvage.PartReasoning, Text: "hm", Signature: "anthropic:c2ln"}}
	other := serve(t, frames(finish("stop"), done))
	if _, err := model.Collect(other.model(t).Stream(t.Context(), results(got.Message))); err != nil {
		t.Fatal(err)
	}
	if _, body := other.asked(t); strings.Contains(body, "extra_content") || strings.Contains(body, "c2ln") {
		t.Errorf("body %s, want no signature in it", body)
	}
}

// The compatible endpoint of Google refuses calls without a signature, so those
// that another model made say that they have none.
func TestCallsOfOthersForGoogle(t *testing.T) {
	t.Parallel()
	for name, signs := range map[string]bool{"gemini-3-pro": true, "gemini-2.5-flash": false} {
		s := serve(t, frames(finish("stop"), done))
		m := open(t, openai.Options{Model: name, Provider: "gemini", BaseURL: "http://generativelanguage.googleapis.com/v1beta/openai/", HTTPClient: s.instead()})
		_, err := model.Collect(m.Stream(t.Context(), model.Request{Messages: []selvage.Message{
			selvage.UserText("hello"), {Role: selvage.RoleAssistant, ToolCalls: []selvage.ToolCall{{ID: "a", Name: "f"}}}, {Role: selvage.RoleTool, ToolCallID: "a"}}}))
		if err != nil {
			t.Fatal(err)
		}
		if _, body := s.asked(t); strings.Contains(body, "skip_thought_signature_validator") != signs {
			t.Errorf("%s is sent %s", name, body)
		}
	}
}
