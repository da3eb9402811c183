package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/rogpeppe/go-internal/testscript"
)

// serve starts a service that speaks the protocol of real models, and tells
// the script its address as $SERVICE. It knows one key, sk-good.
func serve(env *testscript.Env) {
	server := httptest.NewServer(http.HandlerFunc(complete))
	env.Defer(server.Close)
	env.Setenv("SERVICE", server.URL+"/v1")
}

// complete answers that it is who it was asked for, and how many messages it
// was given.
func complete(w http.ResponseWriter, r *http.Request) {
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
