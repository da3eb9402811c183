package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/anthropic"
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
			{Type: selvage.PartFile, Name: "a.pdf", MediaType: "application/pdf", Data: []byte("pdf")},
			{Type: selvage.PartFile, Name: "a.csv", MediaType: "text/csv; charset=utf-8", Data: []byte("a,b")},
			{Type: selvage.PartData, Value: json.RawMessage(`{"n":9007199254740993}`)},
			{Type: selvage.PartText, Text: " \n"},
		}},
		{Role: selvage.RoleUser, Visibility: selvage.VisibleInternal, Content: selvage.Text("(the user is in a hurry)")},
		{Role: selvage.RoleAssistant, Content: selvage.Content{
			{Type: selvage.PartReasoning, Text: "hm", Signature: "anthropic:c2ln"},
			{Type: selvage.PartReasoning, Signature: "anthropic-redacted:ZGF0YQ=="},
			{Type: selvage.PartReasoning, Text: "of an answer that broke off"},
			{Type: selvage.PartReasoning, Text: "of another provider", Signature: "google:c2ln"},
			{Type: selvage.PartText, Text: "Looking."},
			{Type: selvage.PartText, Text: ""},
		}, ToolCalls: []selvage.ToolCall{
			{ID: "c1", Name: "look", Arguments: json.RawMessage(`{"at":9007199254740993}`)},
			{ID: "c/2", Name: "look", Arguments: json.RawMessage(`"{\"at\":"`)},
			{ID: "c3", Name: "look"},
			{ID: "c4", Name: "look", Arguments: json.RawMessage(`[1]`)},
		}},
		selvage.UserText("(said meanwhile)"),
		{Role: selvage.RoleTool, ToolCallID: "c/2", Content: selvage.Content{
			{Type: selvage.PartText, Text: "this:"}, {Type: selvage.PartImage, Name: "cat.png", MediaType: "image/png", Data: []byte{1}},
			{Type: selvage.PartImage, Name: "cat.svg", MediaType: "image/svg+xml", Data: []byte("<svg>")}, {Type: selvage.PartImage, Name: "blob.png", Blob: "b"}}},
		{Role: selvage.RoleTool, ToolCallID: "c1", Content: selvage.Content{{Type: selvage.PartData, Value: json.RawMessage(`{"seen":"a cat"}`)}}},
		{Role: selvage.RoleTool, ToolCallID: "c3", Content: selvage.Text("")},
		{Role: selvage.RoleAssistant, Content: selvage.Content{{Type: selvage.PartReasoning, Text: "nothing to say"}}},
		{Role: selvage.RoleSystem, Content: selvage.Text("It is late.")},
		{Role: selvage.RoleTool, ToolCallID: "gone", Content: selvage.Text("of a call that the window lost")},
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
	"model": "claude-test",
	"stream": true,
	"max_tokens": 99,
	"system": [{"type": "text", "text": "Be brief.\n\nIt is Monday."}],
	"messages": [
		{"role": "user", "content": [
			{"type": "text", "text": "<What> is in the picture?"},
			{"type": "text", "text": "Here:"},
			{"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "AQID"}},
			{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
			{"type": "document", "title": "a.pdf", "source": {"type": "base64", "media_type": "application/pdf", "data": "cGRm"}},
			{"type": "document", "title": "a.csv", "source": {"type": "text", "media_type": "text/plain", "data": "a,b"}},
			{"type": "text", "text": "{\"n\":9007199254740993}"},
			{"type": "text", "text": "(the user is in a hurry)"}
		]},
		{"role": "assistant", "content": [
			{"type": "thinking", "thinking": "hm", "signature": "c2ln"},
			{"type": "redacted_thinking", "data": "ZGF0YQ=="},
			{"type": "text", "text": "Looking."},
			{"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 9007199254740993}},
			{"type": "tool_use", "id": "call_4885898d8f55e37c67c0", "name": "look", "input": {"not_an_object": "{\"at\":"}},
			{"type": "tool_use", "id": "c3", "name": "look", "input": {}},
			{"type": "tool_use", "id": "c4", "name": "look", "input": {"not_an_object": "[1]"}}
		]},
		{"role": "user", "content": [
			{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "{\"seen\":\"a cat\"}"}]},
			{"type": "tool_result", "tool_use_id": "call_4885898d8f55e37c67c0", "content": [
				{"type": "text", "text": "this:"},
				{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AQ=="}},
				{"type": "text", "text": "[image cat.svg]"},
				{"type": "text", "text": "[image blob.png]"}
			]},
			{"type": "tool_result", "tool_use_id": "c3"},
			{"type": "tool_result", "tool_use_id": "c4", "is_error": true, "content": [{"type": "text", "text": "(no result)"}]},
			{"type": "text", "text": "(said meanwhile)"},
			{"type": "text", "text": "<system>\nIt is late.\n</system>"},
			{"type": "text", "text": "<system>\nThe result of an earlier call: of a call that the window lost\n</system>"},
			{"type": "text", "text": "Well?"}
		]}
	],
	"tools": [
		{"name": "look", "description": "Looks.", "input_schema":
			{"type": "object", "properties": {"at": {"type": "integer", "maximum": 9007199254740993}}, "required": ["at"]}},
		{"name": "wait", "input_schema": {"type": "object"}}
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

// sent is the body of the request that options make of req.
func sent(t *testing.T, options anthropic.Options, req model.Request) string {
	t.Helper()
	s := serve(t, events(whole("end_turn")...))
	options.BaseURL, options.HTTPClient = s.URL, s.Client()
	if _, err := model.Collect(open(t, options).Stream(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	_, body := s.asked(t)
	return body
}

// checkBody compares JSON, numbers as they are written.
func checkBody(t *testing.T, want, body string) {
	t.Helper()
	if diff := cmp.Diff(exact(t, want), exact(t, body)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

func TestTheRequestOnTheWire(t *testing.T) {
	t.Parallel()
	s := serve(t, events(whole("end_turn")...))
	if _, err := model.Collect(s.model(t).Stream(t.Context(), conversation)); err != nil {
		t.Fatal(err)
	}
	r, body := s.asked(t)
	checkBody(t, onTheWire, body)
	if r.Method != "POST" || r.URL.Path != "/v1/messages" || r.URL.RawQuery != "" {
		t.Errorf("%s %s, want POST /v1/messages", r.Method, r.URL)
	}
	for name, want := range map[string]string{"X-Api-Key": key, "Content-Type": "application/json", "Anthropic-Version": "2023-06-01", "Authorization": ""} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// A path /v1 at the end of the address counts for nothing.
func TestTheAddress(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", "/", "/v1", "/v1/", "/proxy", "/proxy/v1"} {
		s := serve(t, events(whole("end_turn")...))
		if _, err := ask(t, open(t, anthropic.Options{Model: "m", BaseURL: s.URL + path, HTTPClient: s.Client()})); err != nil {
			t.Fatal(err)
		}
		want := "/v1/messages"
		if strings.HasPrefix(path, "/proxy") {
			want = "/proxy" + want
		}
		if r, _ := s.asked(t); r.URL.Path != want || len(r.Header.Values("X-Api-Key")) != 0 {
			t.Errorf("with %q at the end: %s with key %q; want %s without one", path, r.URL.Path, r.Header.Values("X-Api-Key"), want)
		}
	}
}

// A library must not pick up keys or headers that its caller did not give it.
func TestTheEnvironmentIsNotRead(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_PROFILE"} {
		t.Setenv(name, "X-Custom: "+key)
	}
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1/")
	s := serve(t, events(whole("end_turn")...))
	if _, err := ask(t, open(t, anthropic.Options{Model: "m", BaseURL: s.URL, HTTPClient: s.Client()})); err != nil {
		t.Fatal(err)
	}
	r, _ := s.asked(t)
	for _, name := range []string{"Authorization", "X-Api-Key", "X-Custom"} {
		if got := r.Header.Values(name); len(got) != 0 {
			t.Errorf("%s is %q, want none", name, got)
		}
	}
}

// Conversations that the protocol refuses are put into a shape that it takes.
func TestShapes(t *testing.T) {
	t.Parallel()
	assistant := func(text string) selvage.Message {
		return selvage.Message{Role: selvage.RoleAssistant, Content: selvage.Text(text)}
	}
	tests := map[string]struct {
		messages []selvage.Message
		want     string
	}{
		"nothing":                 {nil, `[{"role":"user","content":[{"type":"text","text":"(It is your turn.)"}]}]`},
		"nothing but white space": {[]selvage.Message{selvage.UserText(" ")}, `[{"role":"user","content":[{"type":"text","text":"(It is your turn.)"}]}]`},
		"the assistant alone": {[]selvage.Message{assistant("hi ")}, `[{"role":"user","content":[{"type":"text","text":"(What was said before this is left out.)"}]},
			{"role":"assistant","content":[{"type":"text","text":"hi "}]},{"role":"user","content":[{"type":"text","text":"(It is your turn.)"}]}]`},
		"one after the other": {[]selvage.Message{selvage.UserText("a"), assistant("b"), assistant("c"), selvage.UserText("d")}, `[{"role":"user","content":[{"type":"text","text":"a"}]},
			{"role":"assistant","content":[{"type":"text","text":"b"},{"type":"text","text":"c"}]},{"role":"user","content":[{"type":"text","text":"d"}]}]`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := sent(t, anthropic.Options{Model: "m"}, model.Request{Messages: tt.messages})
			checkBody(t, `{"model":"m","stream":true,"max_tokens":16384,"messages":`+tt.want+`}`, body)
		})
	}
}

// A conversation with calls needs tools, also when none is offered any more.
func TestCallsWithoutTools(t *testing.T) {
	t.Parallel()
	req := conversation
	req.Tools = nil
	body, _ := exact(t, sent(t, anthropic.Options{Model: "m"}, req)).(map[string]any)
	want := exact(t, `{"tools":[{"name":"look","input_schema":{"type":"object"}}],"tool_choice":{"type":"none"}}`)
	if diff := cmp.Diff(want, any(map[string]any{"tools": body["tools"], "tool_choice": body["tool_choice"]})); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
}

func TestThinkingCacheAndBounds(t *testing.T) {
	t.Parallel()
	long, short := hello, hello
	long.MaxOutputTokens, short.MaxOutputTokens = 5000, 1024
	tests := map[string]struct {
		options anthropic.Options
		request model.Request
		want    string
	}{
		"nothing said":       {anthropic.Options{Model: "m"}, hello, `"max_tokens":16384`},
		"an old model":       {anthropic.Options{Model: "claude-3-haiku-20240307"}, hello, `"max_tokens":4096`},
		"a bound":            {anthropic.Options{Model: "m", MaxOutputTokens: 100}, hello, `"max_tokens":100`},
		"a budget":           {anthropic.Options{Model: "m", Thinking: anthropic.Thinking{Tokens: 2000}}, hello, `"max_tokens":18384,"thinking":{"type":"enabled","budget_tokens":2000}`},
		"more than there is": {anthropic.Options{Model: "m", Thinking: anthropic.Thinking{Tokens: 9000}}, long, `"max_tokens":5000,"thinking":{"type":"enabled","budget_tokens":4999}`},
		"no room to think":   {anthropic.Options{Model: "m", Thinking: anthropic.Thinking{Tokens: 9000}}, short, `"max_tokens":1024`},
		"as it likes":        {anthropic.Options{Model: "m", Thinking: anthropic.Thinking{Adaptive: true}}, hello, `"max_tokens":16384,"thinking":{"type":"adaptive","display":"summarized"}`},
		"kept":               {anthropic.Options{Model: "m", Cache: true}, hello, `"max_tokens":16384,"cache_control":{"type":"ephemeral"}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := sent(t, tt.options, tt.request)
			checkBody(t, `{"model":"`+tt.options.Model+`","stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"hello"}]}],`+tt.want+`}`, body)
		})
	}
}

// What cannot be put into a request fails before anything is sent.
func TestRequestsThatCannotBeSent(t *testing.T) {
	t.Parallel()
	with := func(p selvage.Part) model.Request {
		return model.Request{Messages: []selvage.Message{{Role: selvage.RoleSystem, Content: selvage.Text("s")}, {Role: selvage.RoleUser, Content: selvage.Content{p}}}}
	}
	tests := map[string]struct {
		request model.Request
		says    string
	}{
		"an image by its blob":     {with(selvage.Part{Type: selvage.PartImage, Blob: "abc"}), "messages[1]: content[0]: the image is named by its blob only"},
		"an image of another kind": {with(selvage.Part{Type: selvage.PartImage, MediaType: "image/svg+xml", Data: []byte("<svg>")}), "messages[1]: content[0]: the model takes no image of type image/svg+xml"},
		"a file that is no text":   {with(selvage.Part{Type: selvage.PartFile, MediaType: "application/zip", Data: []byte{0xff}}), "takes no file of type application/zip"},
		"a role of its own":        {model.Request{Messages: []selvage.Message{{Role: "narrator"}}}, `"narrator" is not a role`},
		"parameters of a non-type": {model.Request{Tools: []selvage.ToolSpec{{Name: "t", Parameters: json.RawMessage(`[1]`)}}}, "tool t: its parameters"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, events(whole("end_turn")...))
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

const begun = "The first half of an answer that "

// The models that can go on with their answer do, the others are asked to.
func TestThePrefixOnTheWire(t *testing.T) {
	t.Parallel()
	filled := `[{"role":"user","content":[{"type":"text","text":"hello"}]},{"role":"assistant","content":[{"type":"text","text":"The first half of an answer that"}]}]`
	thinks := anthropic.Thinking{Tokens: 2000}
	for name, tt := range map[string]struct {
		options anthropic.Options
		fills   bool
	}{
		"claude 3":            {anthropic.Options{Model: "claude-3-haiku-20240307"}, true},
		"claude 4":            {anthropic.Options{Model: "claude-sonnet-4-20250514"}, true},
		"claude 4.5":          {anthropic.Options{Model: "claude-sonnet-4-5"}, true},
		"claude 4.5 thinking": {anthropic.Options{Model: "claude-sonnet-4-5", Thinking: thinks}, false},
		"claude 4.6":          {anthropic.Options{Model: "claude-sonnet-4-6"}, false},
		"claude 5":            {anthropic.Options{Model: "claude-sonnet-5"}, false},
		"somebody else's":     {anthropic.Options{Model: "glm-4.6"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body, _ := exact(t, sent(t, tt.options, model.Request{Messages: hello.Messages, Prefix: begun})).(map[string]any)
			messages, _ := body["messages"].([]any)
			if tt.fills {
				if diff := cmp.Diff(exact(t, filled), body["messages"]); diff != "" {
					t.Errorf("messages (-want +got):\n%s", diff)
				}
				return
			}
			if shown, _ := json.Marshal(messages); len(messages) != 3 || !strings.Contains(string(shown), begun) || !strings.Contains(string(shown), "Go on exactly where it stopped") {
				t.Errorf("messages %s, want the model asked to go on", shown)
			}
		})
	}
}

// The prefix and what comes after it make the answer, whether or not the model
// says again what it was shown or could not be shown.
func TestGoingOn(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{"goes on.": "goes on.", " goes on.": "goes on.", "  goes on.": " goes on.", begun + "goes on.": "goes on.", "": ""} {
		for _, size := range []int{1, 9, 1000} {
			var pieces []string
			for rest := said; rest != ""; {
				n := min(size, len(rest))
				pieces, rest = append(pieces, rest[:n]), rest[n:]
			}
			s := serve(t, events(whole("end_turn", saying(pieces...))...))
			m := open(t, anthropic.Options{Model: "claude-sonnet-4-5", BaseURL: s.URL, HTTPClient: s.Client()})
			got, err := model.Collect(m.Stream(t.Context(), model.Request{Messages: hello.Messages, Prefix: begun}))
			if err != nil || got.Message.Text() != want {
				t.Errorf("of %q in pieces of %d came %q (%v), want %q", said, size, got.Message.Text(), err, want)
			}
		}
	}
}
