package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/rogpeppe/go-internal/testscript"
)

// serve starts a service that speaks the protocols of real models, and tells
// the script its address as $SERVICE. It knows one key, sk-good.
func serve(env *testscript.Env) {
	server := httptest.NewServer(http.HandlerFunc(complete))
	env.Defer(server.Close)
	env.Setenv("SERVICE", server.URL+"/v1")
}

// complete answers that it is who it was asked for, and how many messages it
// was given.
func complete(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/messages" {
		message(w, r)
		return
	}
	if r.Header.Get("Authorization") != "Bearer sk-good" {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":{"message":"this key is not known","type":"invalid_request_error"}}`) // the caller sees a short body
		return
	}
	var req struct { // short, broke and torn are models that fail
		Model    string            `json:"model"`
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if req.Model == "broke" {
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"error":{"message":"there is no money left","type":"insufficient_quota","code":"insufficient_quota"}}`) // the caller sees a short body
		return
	}
	finish := "stop"
	if req.Model == "short" {
		finish = "length"
	}
	w.Header().Set("Content-Type", "text/event-stream")
	all := []string{
		fmt.Sprintf(`[{"index":0,"delta":{"role":"assistant","content":"I am %s, "}}]`, req.Model),
		fmt.Sprintf(`[{"index":0,"delta":{"content":"given %d."}}]`, len(req.Messages)),
		fmt.Sprintf(`[{"index":0,"delta":{},"finish_reason":%q}]`, finish),
	}
	switch going := len(req.Messages) > 1; {
	case req.Model == "short" && going:
		all = all[2:] // it has nothing to add, and says that it was cut off all the same
	case req.Model == "torn" && going:
		all = all[1:]
	}
	for i, choices := range all {
		if req.Model == "torn" && len(all) == 3 && i == 1 {
			return // the connection is closed in the middle of the answer
		}
		_, _ = fmt.Fprintf(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":%s}\n\n", choices)
	}
	_, _ = io.WriteString(w, `data: {"id":"c","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":500,"total_tokens":1500}}`+"\n\ndata: [DONE]\n\n")
}

// message does the same in Anthropic's protocol.
func message(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("X-Api-Key") != "sk-good" {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`)
		return
	}
	var req struct {
		Model        string            `json:"model"`
		Messages     []json.RawMessage `json:"messages"`
		Thinking     json.RawMessage   `json:"thinking"`
		CacheControl json.RawMessage   `json:"cache_control"`
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range [][2]string{
		{"message_start", `"message":{"role":"assistant","content":[],"usage":{"input_tokens":500,"cache_creation_input_tokens":400,"cache_read_input_tokens":100,"output_tokens":1}}`},
		{"content_block_start", `"index":0,"content_block":{"type":"text","text":""}`},
		{"content_block_delta", fmt.Sprintf(`"index":0,"delta":{"type":"text_delta","text":"I am %s, given %d."}`, req.Model, len(req.Messages))},
		{"content_block_delta", fmt.Sprintf(`"index":0,"delta":{"type":"text_delta","text":%q}`, fmt.Sprintf(" thinking %s, cache %s", req.Thinking, req.CacheControl))},
		{"content_block_stop", `"index":0`},
		{"message_delta", `"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":500}`},
		{"message_stop", `"end":true`},
	} {
		_, _ = fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q,%s}\n\n", e[0], e[0], e[1])
	}
}
