package openai_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/openai"
)

// google is how Google's compatible endpoint refuses.
func google(quota string) string {
	return `[{"error":{"code":429,"message":"the reason","status":"RESOURCE_EXHAUSTED","details":[
		{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"` + quota + `"}]},
		{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]}}]`
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	const date = "Mon, 02 Jan 2006 15:04:05 GMT"
	said := func(code string) string {
		return `{"error":{"message":"the reason","type":"some_error","param":null,"code":` + code + `}}`
	}
	tests := map[string]struct {
		status int
		header map[string]string
		body   string
		class  model.Class
		wait   time.Duration
		says   string
	}{
		"429 with seconds":             {429, map[string]string{"Retry-After": "7"}, said(`"rate_limit_exceeded"`), model.RateLimited, 7 * time.Second, "the reason"},
		"429 with a fraction":          {429, map[string]string{"Retry-After": "0.25"}, said(`null`), model.RateLimited, 250 * time.Millisecond, "the reason"},
		"429 with a date":              {429, map[string]string{"Date": date, "Retry-After": "Mon, 02 Jan 2006 15:05:35 GMT"}, said(`null`), model.RateLimited, 90 * time.Second, "the reason"},
		"429 with a date gone by":      {429, map[string]string{"Date": date, "Retry-After": "Mon, 02 Jan 2006 15:00:00 GMT"}, said(`null`), model.RateLimited, 0, "the reason"},
		"429 with milliseconds":        {429, map[string]string{"Retry-After-Ms": "1500", "Retry-After": "2"}, said(`null`), model.RateLimited, 1500 * time.Millisecond, "the reason"},
		"429 with an age":              {429, map[string]string{"Retry-After": "1e30"}, said(`null`), model.RateLimited, 24 * time.Hour, "the reason"},
		"429 with nonsense":            {429, map[string]string{"Retry-After": "soon"}, said(`null`), model.RateLimited, 0, "the reason"},
		"429 with less than nothing":   {429, map[string]string{"Retry-After": "-3"}, said(`null`), model.RateLimited, 0, "the reason"},
		"429 for a quota":              {429, nil, said(`"insufficient_quota"`), model.Quota, 0, "the reason"},
		"429 for an account":           {429, nil, said(`"billing_not_active"`), model.Quota, 0, "the reason"},
		"402":                          {402, nil, `{"error":{"message":"Insufficient Balance"}}`, model.Quota, 0, "Insufficient Balance"},
		"429 of Google's for a minute": {429, nil, google("GenerateRequestsPerMinutePerProjectPerModel"), model.RateLimited, 34 * time.Second, "the reason"},
		"429 of Google's for a day":    {429, nil, google("GenerateRequestsPerDayPerProjectPerModel-FreeTier"), model.Quota, 34 * time.Second, "the reason"},
		"400 of Google's":              {400, nil, `[{"error":{"code":400,"message":"the reason","status":"INVALID_ARGUMENT"}}]`, model.Permanent, 0, "the reason"},
		"500":                          {500, nil, said(`null`), model.Transient, 0, "the reason"},
		"500 that asks to be retried":  {500, map[string]string{"X-Should-Retry": "true"}, said(`null`), model.Transient, 0, "the reason"},
		"500 with a page":              {500, nil, "<html><h1>oops</h1></html>", model.Transient, 0, "no reason"},
		"500 with nothing":             {500, nil, "", model.Transient, 0, "no reason"},
		"501":                          {501, nil, "", model.Permanent, 0, "no reason"},
		"502":                          {502, nil, "bad gateway", model.Transient, 0, "no reason"},
		"503 with seconds":             {503, map[string]string{"Retry-After": "30"}, said(`null`), model.Transient, 30 * time.Second, "the reason"},
		"529":                          {529, nil, said(`null`), model.Transient, 0, "the reason"},
		"408":                          {408, nil, said(`null`), model.Transient, 0, "the reason"},
		"400":                          {400, nil, said(`"context_length_exceeded"`), model.Permanent, 0, "the reason"},
		"400 with a plain error":       {400, nil, `{"error":"the reason"}`, model.Permanent, 0, "the reason"},
		"400 with a bare message":      {400, nil, `{"object":"error","message":"the reason","code":400}`, model.Permanent, 0, "the reason"},
		"401":                          {401, nil, `{"error":{"message":"Incorrect API key provided: sk-te**9d."}}`, model.Permanent, 0, "does not accept the API key"},
		"403":                          {403, nil, `{"error":{"message":"the key ` + key + ` may not"}}`, model.Permanent, 0, "the key [key] may not"},
		"404":                          {404, nil, said(`"model_not_found"`), model.Permanent, 0, "the reason"},
		"422":                          {422, nil, said(`null`), model.Permanent, 0, "the reason"},
		"a message that would scroll":  {400, nil, `{"error":{"message":"one\n\u001b[31mtwo` + strings.Repeat("é", 1000) + `"}}`, model.Permanent, 0, "one  [31mtwoé"},
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

// A date without the server's clock counts from ours.
func TestRetryAfterADateFromNow(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Date"] = nil
		w.Header().Set("Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
		w.WriteHeader(429)
	})
	_, err := ask(t, s.model(t))
	var failed *model.Error
	if !errors.As(err, &failed) || failed.RetryAfter > time.Hour || failed.RetryAfter < 59*time.Minute {
		t.Errorf("error %+v, want to wait about an hour", failed)
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
	half := []string{text("half "), text("of it")}
	call := piece(`"index":0,"id":"a","function":{"name":"one","arguments":"{}"}`)
	broken := `{"error":{"message":"overloaded","type":"server_error","code":null}}`
	tests := map[string]struct {
		handle http.HandlerFunc
		class  model.Class
		kept   string
	}{
		"reset before the answer": {func(w http.ResponseWriter, _ *http.Request) { abort(w) }, model.Transient, ""},
		"aborted after half": {func(w http.ResponseWriter, _ *http.Request) {
			send(w, half...)
			panic(http.ErrAbortHandler)
		}, model.Cut, "half of it"},
		"aborted in a frame": {func(w http.ResponseWriter, _ *http.Request) {
			send(w, half...)
			fmt.Fprint(w, `data: {"choices":[{"index":0,"del`)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, model.Cut, "half of it"},
		"aborted before any frame": {func(w http.ResponseWriter, _ *http.Request) {
			send(w)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, model.Transient, ""},
		"aborted in a call": {func(w http.ResponseWriter, _ *http.Request) {
			send(w, call)
			panic(http.ErrAbortHandler)
		}, model.Cut, ""},
		"ended without a finish":        {frames(half...), model.Cut, "half of it"},
		"done without a finish":         {frames(append(half, done)...), model.Cut, "half of it"},
		"ended without anything":        {frames(), model.Transient, ""},
		"done without anything":         {frames(done), model.Transient, ""},
		"garbage at once":               {frames("?!", text("a"), finish("stop"), done), model.Transient, ""},
		"garbage after half":            {frames(append(half, `{"choices":`, text("more"), finish("stop"), done)...), model.Cut, "half of it"},
		"an error at once":              {frames(broken), model.Transient, ""},
		"an error after half":           {frames(append(half, broken)...), model.Cut, "half of it"},
		"a limit at once":               {frames(`{"error":{"message":"m","code":"rate_limit_exceeded"}}`), model.RateLimited, ""},
		"a limit by number":             {frames(`{"error":{"message":"m","code":429}}`), model.RateLimited, ""},
		"a limit after half":            {frames(append(half, `{"error":{"message":"m","code":429}}`)...), model.Cut, "half of it"},
		"a bad request after half":      {frames(append(half, `{"error":{"message":"m","type":"invalid_request_error"}}`)...), model.Permanent, "half of it"},
		"a quota at once":               {frames(`{"error":{"message":"m","code":"insufficient_quota"}}`), model.Quota, ""},
		"a quota after half":            {frames(append(half, `{"error":{"message":"m","code":402}}`)...), model.Quota, "half of it"},
		"an error as the finish":        {frames(append(half, finish("error"), done)...), model.Cut, "half of it"},
		"a key in the error":            {frames(`{"error":{"message":"` + key + `"}}`), model.Transient, ""},
		"a page instead of a stream":    {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>login</html>") }, model.Permanent, ""},
		"an object instead of a stream": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"choices":[]}`) }, model.Permanent, ""},
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

// An answer that had finished is complete even if its connection then breaks:
// asking again would pay twice.
func TestABreakAfterTheFinishCostsNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		send(w, text("all"), piece(`"index":0,"id":"a","function":{"name":"one","arguments":"{}"}`), finish("tool_calls"))
		panic(http.ErrAbortHandler)
	})
	got, err := ask(t, s.model(t))
	if err != nil || got.Message.Text() != "all" || len(got.Message.ToolCalls) != 1 || got.Finish != model.FinishToolCalls {
		t.Errorf("answer %+v, error %v; want it complete", got, err)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	secret := "http://user:" + key + "@host/v1"
	tests := map[string]openai.Options{
		"no model":               {},
		"a blank model":          {Model: " "},
		"a key with its newline": {Model: "m", APIKey: key + "\n"},
		"no scheme":              {Model: "m", BaseURL: "localhost:11434"},
		"another scheme":         {Model: "m", BaseURL: "ftp://host"},
		"no host":                {Model: "m", BaseURL: "http:///v1"},
		"no URL":                 {Model: "m", BaseURL: "http://%zz"},
		"a password":             {Model: "m", BaseURL: secret},
		"a query":                {Model: "m", BaseURL: "http://host/v1?key=" + key},
	}
	for name, options := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := openai.New(options)
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
	m := open(t, openai.Options{Model: "gpt-5-mini"})
	if _, known := m.Price(); m.Name() != "openai/gpt-5-mini" || known {
		t.Errorf("%s, price known %v; want openai/gpt-5-mini without one", m.Name(), known)
	}
	price := model.Price{Input: selvage.Dollar}
	m = open(t, openai.Options{Model: "meta/llama", Provider: "ollama", BaseURL: "http://localhost:11434/v1", Price: &price})
	if got, known := m.Price(); m.Name() != "ollama/meta/llama" || !known || got != price {
		t.Errorf("%s at %+v (%v), want ollama/meta/llama at %+v", m.Name(), got, known, price)
	}
}
