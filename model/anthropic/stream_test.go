package anthropic_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
)

func TestStreaming(t *testing.T) {
	t.Parallel()
	thinking := []string{
		block(`"type":"thinking","thinking":"","signature":""`), piece("thinking_delta", "thinking", "hm "), ping, piece("thinking_delta", "thinking", "yes"),
		piece("signature_delta", "signature", "c2"), piece("signature_delta", "signature", "ln"), shut,
	}
	hidden := []string{block(`"type":"redacted_thinking","data":"ZGF0YQ=="`), shut}
	foreign := []string{block(`"type":"server_tool_use","id":"s","name":"web_search","input":{}`), piece("input_json_delta", "partial_json", "{}"), shut,
		block(`"type":"yet_to_come","text":"?"`), piece("text_delta", "text", "?"), piece("yet_to_come", "text", "?"), shut, `{"type":"yet_to_come"}`}
	s := serve(t, events(whole("tool_use", thinking, hidden, foreign, saying("Héllo", " wor", "ld\n"), calling("toolu_1", "look", `{"at":90071992`, `54740993}`))...))
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
		case c.Signature != "":
			got = append(got, "signature "+c.Signature)
		case c.Text != "":
			got = append(got, "text "+c.Text)
		case c.Writing != nil:
			got = append(got, fmt.Sprintf("writing %s %s %s", c.Writing.ID, c.Writing.Name, c.Writing.Arguments))
		case c.ToolCall != nil:
			got = append(got, fmt.Sprintf("call %s %s %s", c.ToolCall.ID, c.ToolCall.Name, c.ToolCall.Arguments))
		default:
			got = append(got, "finish "+string(c.Finish))
		}
	}
	want := []string{
		"usage {InputTokens:11 OutputTokens:1 CachedTokens:6 CacheWriteTokens:2 ReasoningTokens:0}",
		"reasoning hm ", "reasoning yes", "signature anthropic:c2ln", "signature anthropic-redacted:ZGF0YQ==",
		"text Héllo", "text  wor", "text ld\n",
		"writing toolu_1 look ", `writing   {"at":90071992`, `writing   54740993}`, `call toolu_1 look {"at":9007199254740993}`,
		"usage {InputTokens:11 OutputTokens:7 CachedTokens:6 CacheWriteTokens:2 ReasoningTokens:0}", "finish tool_calls",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("chunks (-want +got):\n%s", diff)
	}
}

// What a model thought goes back to it as it came, and what it said before too.
func TestThinkingGoesBack(t *testing.T) {
	t.Parallel()
	thinking := []string{block(`"type":"thinking","thinking":"","signature":""`), piece("thinking_delta", "thinking", "hm"), piece("signature_delta", "signature", "c2ln"), shut}
	s := serve(t, events(whole("tool_use", thinking, calling("t1", "look", `{}`))...))
	got, err := ask(t, s.model(t))
	if err != nil {
		t.Fatal(err)
	}
	next := serve(t, events(whole("end_turn")...))
	_, err = model.Collect(next.model(t).Stream(t.Context(), model.Request{Messages: []selvage.Message{hello.Messages[0], got.Message,
		{Role: selvage.RoleTool, ToolCallID: "t1", Content: selvage.Text("1")}}}))
	if err != nil {
		t.Fatal(err)
	}
	_, body := next.asked(t)
	if !strings.Contains(body, `{"signature":"c2ln","thinking":"hm","type":"thinking"}`) {
		t.Errorf("body %s, want the thinking as it came", body)
	}
}

func TestAnswerEnds(t *testing.T) {
	t.Parallel()
	call := calling("a", "clock")
	tests := map[string]struct {
		events []string
		finish model.Finish
		calls  int
	}{
		"end of the turn":           {whole("end_turn", saying("a")), model.FinishStop, 0},
		"a stop sequence":           {whole("stop_sequence", saying("a")), model.FinishStop, 0},
		"length":                    {whole("max_tokens", saying("a")), model.FinishLength, 0},
		"the window":                {whole("model_context_window_exceeded", saying("a")), model.FinishLength, 0},
		"refusal":                   {whole("refusal", saying("a")), model.FinishContentFilter, 0},
		"tool use":                  {whole("tool_use", call), model.FinishToolCalls, 1},
		"tool use without a call":   {whole("tool_use", saying("a")), model.FinishStop, 0},
		"a call that ends the turn": {whole("end_turn", call), model.FinishToolCalls, 1},
		"length within a call":      {whole("max_tokens", calling("a", "clock", `{"x":`)), model.FinishLength, 1},
		"a reason of its own":       {whole("yet_to_come", saying("a")), model.FinishStop, 0},
		"nothing said":              {whole("end_turn"), model.FinishStop, 0},
		"no end marker":             {slices.DeleteFunc(whole("end_turn", saying("a")), func(e string) bool { return e == done }), model.FinishStop, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ask(t, serve(t, events(tt.events...)).model(t))
			if err != nil {
				t.Fatal(err)
			}
			if got.Finish != tt.finish || len(got.Message.ToolCalls) != tt.calls || got.Usage != (selvage.Usage{InputTokens: 11, OutputTokens: 7, CachedTokens: 6, CacheWriteTokens: 2}) {
				t.Errorf("finish %q with %d calls and usage %+v, want %q with %d", got.Finish, len(got.Message.ToolCalls), got.Usage, tt.finish, tt.calls)
			}
		})
	}
}

// The sums at the end count, and servers that leave something out are met half way.
func TestUsage(t *testing.T) {
	t.Parallel()
	ending := func(usage string) string {
		return `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":` + usage + `}`
	}
	bare := `{"type":"message_start","message":{"id":"m","role":"assistant","content":[]}}`
	for name, tt := range map[string]struct {
		events []string
		want   selvage.Usage
	}{
		"all at the end": {[]string{begin, ending(`{"input_tokens":4,"cache_creation_input_tokens":3,"cache_read_input_tokens":2,"output_tokens":9,"output_tokens_details":{"thinking_tokens":5}}`)},
			selvage.Usage{InputTokens: 9, OutputTokens: 9, CachedTokens: 2, CacheWriteTokens: 3, ReasoningTokens: 5}},
		"nothing at the end":       {[]string{begin, ending(`{}`)}, selvage.Usage{InputTokens: 11, OutputTokens: 1, CachedTokens: 6, CacheWriteTokens: 2}},
		"nothing at the beginning": {[]string{bare, ending(`{"input_tokens":4,"output_tokens":9}`)}, selvage.Usage{InputTokens: 4, OutputTokens: 9}},
		"nothing at all":           {[]string{bare, ending(`{}`)}, selvage.Usage{}},
	} {
		got, err := ask(t, serve(t, events(append(tt.events, done)...)).model(t))
		if err != nil || got.Usage != tt.want {
			t.Errorf("%s: usage %+v (%v), want %+v", name, got.Usage, err, tt.want)
		}
	}
}

func TestToolCalls(t *testing.T) {
	t.Parallel()
	fresh := "(fresh)"
	tests := map[string]struct {
		blocks [][]string
		want   []selvage.ToolCall
	}{
		"parallel": {
			[][]string{calling("a", "one", `{`, `}`), calling("b", "two", `{"x"`, `:2}`)},
			[]selvage.ToolCall{{ID: "a", Name: "one", Arguments: json.RawMessage(`{}`)}, {ID: "b", Name: "two", Arguments: json.RawMessage(`{"x":2}`)}},
		},
		"without arguments": {
			[][]string{calling("a", "one")},
			[]selvage.ToolCall{{ID: "a", Name: "one", Arguments: json.RawMessage(`{}`)}},
		},
		"arguments at once": {
			[][]string{{block(`"type":"tool_use","id":"a","name":"one","input":{"x":9007199254740993}`), shut}},
			[]selvage.ToolCall{{ID: "a", Name: "one", Arguments: json.RawMessage(`{"x":9007199254740993}`)}},
		},
		"arguments that are no JSON": {
			[][]string{calling("a", "one", `{"x":`)},
			[]selvage.ToolCall{{ID: "a", Name: "one", Arguments: json.RawMessage(`"{\"x\":"`)}},
		},
		"ids that cannot stay": {
			[][]string{calling("same", "one"), calling("same", "one"), calling("a/b", "one"), calling("earlier", "one"), calling("", "one")},
			[]selvage.ToolCall{
				{ID: "same", Name: "one", Arguments: json.RawMessage(`{}`)}, {ID: fresh, Name: "one", Arguments: json.RawMessage(`{}`)},
				{ID: fresh, Name: "one", Arguments: json.RawMessage(`{}`)}, {ID: fresh, Name: "one", Arguments: json.RawMessage(`{}`)},
				{ID: fresh, Name: "one", Arguments: json.RawMessage(`{}`)},
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
			m := serve(t, events(whole("tool_use", tt.blocks...)...)).model(t)
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
		})
	}
}
