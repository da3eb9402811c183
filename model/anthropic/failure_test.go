package anthropic_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/anthropic"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	said := func(kind, message string) string {
		return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_1"}`, kind, message)
	}
	tests := map[string]struct {
		status int
		header map[string]string
		body   string
		class  model.Class
		wait   time.Duration
		says   string
	}{
		"429 with seconds":            {429, map[string]string{"Retry-After": "7"}, said("rate_limit_error", "the reason"), model.RateLimited, 7 * time.Second, "the reason"},
		"429":                         {429, nil, said("rate_limit_error", "the reason"), model.RateLimited, 0, "the reason"},
		"429 that may retry":          {429, map[string]string{"X-Should-Retry": "true", "Retry-After-Ms": "1"}, said("rate_limit_error", "the reason"), model.RateLimited, time.Millisecond, "the reason"},
		"529":                         {529, nil, said("overloaded_error", "Overloaded"), model.Transient, 0, "Overloaded"},
		"529 with seconds":            {529, map[string]string{"Retry-After": "30"}, said("overloaded_error", "Overloaded"), model.Transient, 30 * time.Second, "Overloaded"},
		"500":                         {500, nil, said("api_error", "the reason"), model.Transient, 0, "the reason"},
		"500 with a page":             {500, nil, "<html><h1>oops</h1></html>", model.Transient, 0, "no reason"},
		"500 with nothing":            {500, nil, "", model.Transient, 0, "no reason"},
		"502":                         {502, nil, "bad gateway", model.Transient, 0, "no reason"},
		"504":                         {504, nil, said("timeout_error", "the reason"), model.Transient, 0, "the reason"},
		"400":                         {400, nil, said("invalid_request_error", "messages.0: the reason"), model.Permanent, 0, "messages.0: the reason"},
		"400 for credit":              {400, nil, said("invalid_request_error", "Your credit balance is too low to access the Anthropic API."), model.Quota, 0, "credit balance"},
		"400 for a limit":             {400, nil, said("invalid_request_error", "You have reached your specified API usage limits. You will regain access on 2026-12-01."), model.Quota, 0, "regain access"},
		"402":                         {402, nil, said("billing_error", "the reason"), model.Quota, 0, "the reason"},
		"403 for billing":             {403, nil, said("billing_error", "the reason"), model.Quota, 0, "the reason"},
		"401":                         {401, nil, said("authentication_error", "invalid x-api-key sk-an**9d"), model.Permanent, 0, "does not accept the API key"},
		"403":                         {403, nil, said("permission_error", "the key "+key+" may not"), model.Permanent, 0, "the key [key] may not"},
		"404":                         {404, nil, said("not_found_error", "model: claude-x"), model.Permanent, 0, "model: claude-x"},
		"413":                         {413, nil, said("request_too_large", "the reason"), model.Permanent, 0, "the reason"},
		"422":                         {422, nil, said("invalid_request_error", "the reason"), model.Permanent, 0, "the reason"},
		"a message that would scroll": {400, nil, `{"error":{"message":"one\n\u001b[31mtwo` + strings.Repeat("é", 1000) + `"}}`, model.Permanent, 0, "one  [31mtwoé"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				for name, value := range tt.header {
					w.Header().Set(name, value)
				}
				w.WriteHeader(tt.status)
				fmt.Fprint(w, tt.body)
			})
			got, err := ask(t, s.model(t))
			checkError(t, err, tt.class)
			s.asked(t) // once: the loop retries, nobody else
			var failed *model.Error
			if !errors.As(err, &failed) {
				t.Fatalf("error %v is not a model's", err)
			}
			if failed.Status != tt.status || failed.RetryAfter != tt.wait {
				t.Errorf("status %d, retry after %s; want %d, %s", failed.Status, failed.RetryAfter, tt.status, tt.wait)
			}
			if !strings.Contains(err.Error(), tt.says) || len(err.Error()) > 600 || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("error %q, want one line that says %q", err, tt.says)
			}
			if len(got.Message.Content) != 0 {
				t.Errorf("content %v came with the refusal", got.Message.Content)
			}
		})
	}
}

// abort breaks the connection, with nothing in order.
func abort(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	conn.Close()
}

func TestBrokenStreams(t *testing.T) {
	t.Parallel()
	half := slices.Concat([]string{begin}, saying("half ", "of it"))
	broken := func(kind string) string {
		return `{"type":"error","error":{"type":"` + kind + `","message":"the reason"}}`
	}
	after := func(more ...string) http.HandlerFunc { return events(append(slices.Clone(half), more...)...) }
	tests := map[string]struct {
		handle http.HandlerFunc
		class  model.Class
		kept   string
	}{
		"reset before the answer": {func(w http.ResponseWriter, _ *http.Request) { abort(w) }, model.Transient, ""},
		"aborted in an event": {func(w http.ResponseWriter, _ *http.Request) {
			send(w, half...)
			fmt.Fprint(w, "event: content_block_delta\ndata: {\"type\":\"content_bl")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, model.Cut, "half of it"},
		"aborted before any event": {func(w http.ResponseWriter, _ *http.Request) {
			send(w)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, model.Transient, ""},
		"ended without a reason":        {after(), model.Cut, "half of it"},
		"done without a reason":         {after(done), model.Cut, "half of it"},
		"ended without anything":        {events(), model.Transient, ""},
		"only begun":                    {events(begin, ping), model.Transient, ""},
		"garbage at once":               {events("?!"), model.Transient, ""},
		"garbage after half":            {after(`{"type":`), model.Cut, "half of it"},
		"overloaded at once":            {events(broken("overloaded_error")), model.Transient, ""},
		"overloaded once begun":         {events(begin, ping, broken("overloaded_error")), model.Transient, ""},
		"overloaded after half":         {after(broken("overloaded_error")), model.Cut, "half of it"},
		"a limit at once":               {events(begin, broken("rate_limit_error")), model.RateLimited, ""},
		"a limit after half":            {after(broken("rate_limit_error")), model.Cut, "half of it"},
		"an error of theirs after half": {after(broken("api_error")), model.Cut, "half of it"},
		"credit after half":             {after(broken("billing_error")), model.Quota, "half of it"},
		"a bad request after half":      {after(broken("invalid_request_error")), model.Permanent, "half of it"},
		"an error that is no JSON": {func(w http.ResponseWriter, _ *http.Request) {
			send(w, half...)
			fmt.Fprint(w, "event: error\ndata: oops\n\n")
		}, model.Cut, "half of it"},
		"a key in the error":            {events(`{"type":"error","error":{"message":"` + key + `"}}`), model.Transient, ""},
		"in a call":                     {events(append([]string{begin}, calling("a", "one", `{}`)...)...), model.Cut, ""},
		"a call without a name":         {events(whole("tool_use", calling("a", "", `{}`))...), model.Cut, ""},
		"a page instead of a stream":    {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>login</html>") }, model.Permanent, ""},
		"an object instead of a stream": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"type":"message"}`) }, model.Permanent, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, tt.handle)
			got, err := ask(t, s.model(t))
			checkError(t, err, tt.class)
			s.asked(t)
			if kept := got.Message.Text(); kept != tt.kept || len(got.Message.ToolCalls) != 0 {
				t.Errorf("kept %q and %d calls, want %q and none", kept, len(got.Message.ToolCalls), tt.kept)
			}
		})
	}
}

// Wherever the server breaks off, what had arrived is kept and counted, and the
// class says what to do; once the reason of the end is known, nothing is lost.
func TestACutAtEachBoundary(t *testing.T) {
	t.Parallel()
	thinking := []string{block(`"type":"thinking","thinking":"","signature":""`), piece("thinking_delta", "thinking", "hm"), piece("signature_delta", "signature", "c2ln"), shut}
	all := whole("tool_use", thinking, saying("a", "b"), calling("t1", "one", `{"x":`, `1}`))
	ends := slices.Index(all, finish("tool_use"))
	for at := range len(all) + 1 {
		for _, rudely := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d rudely=%v", at, rudely), func(t *testing.T) {
				t.Parallel()
				s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
					send(w, all[:at]...)
					if rudely {
						w.(http.Flusher).Flush()
						panic(http.ErrAbortHandler)
					}
				})
				got, err := ask(t, s.model(t))
				switch {
				case at > ends:
					if err != nil || got.Finish != model.FinishToolCalls || len(got.Message.ToolCalls) != 1 || got.Message.Text() != "ab" || got.Usage.OutputTokens != 7 {
						t.Errorf("answer %+v, error %v; want it complete", got, err)
					}
					return
				case at > 3: // the first three say nothing
					checkError(t, err, model.Cut)
				default:
					checkError(t, err, model.Transient)
				}
				if want := strings.Join([]string{"", "a", "ab"}[min(max(at-7, 0), 2):][:1], ""); got.Message.Text() != want {
					t.Errorf("kept %q, want %q", got.Message.Text(), want)
				}
				if len(got.Message.ToolCalls) != 0 || at > 0 && got.Usage.InputTokens != 11 {
					t.Errorf("%d calls and usage %+v, want none, and the input counted", len(got.Message.ToolCalls), got.Usage)
				}
			})
		}
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	tests := map[string]anthropic.Options{
		"no model":               {},
		"a blank model":          {Model: " "},
		"a key with its newline": {Model: "m", APIKey: key + "\n"},
		"no scheme":              {Model: "m", BaseURL: "localhost:11434"},
		"a password":             {Model: "m", BaseURL: "http://user:" + key + "@host/v1"},
		"a query":                {Model: "m", BaseURL: "http://host/v1?key=" + key},
		"a negative bound":       {Model: "m", MaxOutputTokens: -1},
		"too short a thought":    {Model: "m", Thinking: anthropic.Thinking{Tokens: 1023}},
		"two ways to think":      {Model: "m", Thinking: anthropic.Thinking{Adaptive: true, Tokens: 2048}},
	}
	for name, options := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := anthropic.New(options)
			if m != nil || !errors.Is(err, selvage.ErrInvalid) {
				t.Fatalf("model %v, error %v; want it refused as invalid", m, err)
			}
			if strings.Contains(err.Error(), key) {
				t.Errorf("the error shows the key: %v", err)
			}
		})
	}
}

func TestNameAndPrice(t *testing.T) {
	t.Parallel()
	m := open(t, anthropic.Options{Model: "claude-sonnet-4-5"})
	if _, known := m.Price(); m.Name() != "anthropic/claude-sonnet-4-5" || known {
		t.Errorf("%s, price known %v; want anthropic/claude-sonnet-4-5 without one", m.Name(), known)
	}
	price := model.Price{Input: selvage.Dollar}
	m = open(t, anthropic.Options{Model: "glm", Provider: "other", BaseURL: "http://localhost:1/v1", Price: &price})
	if got, known := m.Price(); m.Name() != "other/glm" || !known || got != price {
		t.Errorf("%s at %+v (%v), want other/glm at %+v", m.Name(), got, known, price)
	}
}
