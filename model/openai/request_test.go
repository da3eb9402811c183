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

// conversation holds one of everything that a message can be.
var conversation = model.Request{
	System: "Be brief.",
	Messages: []selvage.Message{
		{Role: selvage.RoleSystem, Content: selvage.Text("It is Monday.")},
		selvage.UserText("<What> is in the picture?"),
		{Role: selvage.RoleUser, Content: selvage.Content{
			{Type: selvage.PartText, Text: "Here:"},
			{Type: selvage.PartImage, MediaType: "image/jpeg", Data: []byte{1, 2, 3}},
			{Type: selvage.PartImage, Data: []byte("\x89PNG\r\n\x1a\n")},
			{Type: selvage.PartFile, MediaType: "application/pdf", Name: "a.pdf", Data: []byte("pdf")},
			{Type: selvage.PartData, Value: json.RawMessage(`{"n":9007199254740993}`)},
		}},
		{Role: selvage.RoleUser, Visibility: selvage.VisibleInternal, Content: selvage.Text("(the user is in a hurry)")},
		{Role: selvage.RoleAssistant, Content: selvage.Content{
			{Type: selvage.PartReasoning, Text: "let me look"},
			{Type: selvage.PartText, Text: "Looking."},
		}, ToolCalls: []selvage.ToolCall{
			{ID: "c1", Name: "look", Arguments: json.RawMessage(`{"at":9007199254740993}`)},
			{ID: "c2", Name: "look", Arguments: json.RawMessage(`"{\"at\":"`)},
			{ID: "c3", Name: "look"},
		}},
		{Role: selvage.RoleTool, ToolCallID: "c1", Content: selvage.Content{{Type: selvage.PartData, Value: json.RawMessage(`{"seen":"a cat"}`)}}},
		{Role: selvage.RoleTool, ToolCallID: "c2", Content: selvage.Content{{Type: selvage.PartImage, Name: "cat.png", Data: []byte{1}}}},
		{Role: selvage.RoleTool, ToolCallID: "c3"},
		{Role: selvage.RoleAssistant, Content: selvage.Content{{Type: selvage.PartReasoning, Text: "nothing to say"}}},
		selvage.UserText("Well?"),
	},
	Tools: []selvage.ToolSpec{
		{Name: "look", Description: "Looks.", Effect: selvage.EffectNone,
			Parameters: json.RawMessage(`{"type":"object","properties":{"at":{"type":"integer","maximum":9007199254740993}},"required":["at"]}`)},
		{Name: "wait", Effect: selvage.EffectOnce},
	},
	MaxOutputTokens: 99,
	Attempt:         3,
}

const onTheWire = `{
	"model": "test-model",
	"stream": true,
	"stream_options": {"include_usage": true},
	"max_tokens": 99,
	"messages": [
		{"role": "system", "content": "Be brief.\n\nIt is Monday."},
		{"role": "user", "content": "<What> is in the picture?"},
		{"role": "user", "content": [
			{"type": "text", "text": "Here:"},
			{"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,AQID"}},
			{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
			{"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,cGRm"}},
			{"type": "text", "text": "{\"n\":9007199254740993}"}
		]},
		{"role": "user", "content": "(the user is in a hurry)"},
		{"role": "assistant", "content": "Looking.", "tool_calls": [
			{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"at\":9007199254740993}"}},
			{"id": "c2", "type": "function", "function": {"name": "look", "arguments": "{\"at\":"}},
			{"id": "c3", "type": "function", "function": {"name": "look", "arguments": "{}"}}
		]},
		{"role": "tool", "tool_call_id": "c1", "content": "{\"seen\":\"a cat\"}"},
		{"role": "tool", "tool_call_id": "c2", "content": "[image cat.png]"},
		{"role": "tool", "tool_call_id": "c3", "content": ""},
		{"role": "user", "content": "Well?"}
	],
	"tools": [
		{"type": "function", "function": {"name": "look", "description": "Looks.", "parameters":
			{"type": "object", "properties": {"at": {"type": "integer", "maximum": 9007199254740993}}, "required": ["at"]}}},
		{"type": "function", "function": {"name": "wait"}}
	]
}`

// exact decodes JSON with its numbers as they are written.
func exact(t *testing.T, s string) (v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, s)
	}
	return v
}

func TestTheRequestOnTheWire(t *testing.T) {
	t.Parallel()
	s := serve(t, frames(finish("stop"), done))
	if _, err := model.Collect(s.model(t).Stream(t.Context(), conversation)); err != nil {
		t.Fatal(err)
	}
	r, body := s.asked(t)
	if diff := cmp.Diff(exact(t, onTheWire), exact(t, body)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if r.Method != "POST" || r.URL.Path != "/v1/chat/completions" || r.URL.RawQuery != "" {
		t.Errorf("%s %s, want POST /v1/chat/completions", r.Method, r.URL)
	}
	for name, want := range map[string]string{"Authorization": "Bearer " + key, "Content-Type": "application/json"} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestAMinimalRequest(t *testing.T) {
	t.Parallel()
	s := serve(t, frames(finish("stop"), done))
	m := open(t, openai.Options{Model: "m", BaseURL: s.URL + "/v1/", HTTPClient: s.Client()}) // the slash at the end counts for nothing
	if _, err := ask(t, m); err != nil {
		t.Fatal(err)
	}
	r, body := s.asked(t)
	want := `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hello"}]}`
	if diff := cmp.Diff(exact(t, want), exact(t, body)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if r.URL.Path != "/v1/chat/completions" || len(r.Header.Values("Authorization")) != 0 {
		t.Errorf("%s with authorization %q, want none", r.URL.Path, r.Header.Values("Authorization"))
	}
}

// A library must not pick up keys or headers that its caller did not give it.
func TestTheEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", key)
	t.Setenv("OPENAI_ADMIN_KEY", key)
	t.Setenv("OPENAI_ORG_ID", "organization")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Custom: 1")
	s := serve(t, frames(finish("stop"), done))
	if _, err := ask(t, open(t, openai.Options{Model: "m", BaseURL: s.URL, HTTPClient: s.Client()})); err != nil {
		t.Fatal(err)
	}
	r, _ := s.asked(t)
	for _, name := range []string{"Authorization", "Openai-Organization", "X-Custom"} {
		if got := r.Header.Values(name); len(got) != 0 {
			t.Errorf("%s is %q, want none", name, got)
		}
	}
}

// What cannot be put into a request fails before anything is sent.
func TestRequestsThatCannotBeSent(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		request model.Request
		says    string
	}{
		"an image by its blob": {model.Request{Messages: []selvage.Message{
			selvage.UserText("a"), {Role: selvage.RoleUser, Content: selvage.Content{{Type: selvage.PartImage, Blob: "abc"}}}}}, "messages[1]: content[0]: the image is named by its blob only"},
		"a role of its own":        {model.Request{Messages: []selvage.Message{{Role: "narrator"}}}, `"narrator" is not a role`},
		"parameters of a non-type": {model.Request{Tools: []selvage.ToolSpec{{Name: "t", Parameters: json.RawMessage(`[1]`)}}}, "tool t: its parameters"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, frames(finish("stop"), done))
			_, err := model.Collect(s.model(t).Stream(t.Context(), tt.request))
			checkError(t, err, model.Permanent)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want it to say %q", err, tt.says)
			}
			if len(s.requests) != 0 {
				t.Errorf("%d requests were sent", len(s.requests))
			}
		})
	}
}
