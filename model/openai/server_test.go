package openai_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// key is a secret that no error may show.
const key = "sk-test-4f1c9d"

// server speaks the wire format as its handler says, and keeps what it was asked.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
}

// serve starts a server that lives as long as the test.
func serve(t *testing.T, handle http.HandlerFunc) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("reading the request: %v", err)
		}
		s.mu.Lock()
		s.requests, s.bodies = append(s.requests, r), append(s.bodies, string(body))
		s.mu.Unlock()
		handle(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// asked returns the only request that came.
func (s *server) asked(t *testing.T) (*http.Request, string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.requests) != 1 {
		t.Fatalf("%d requests came, want 1", len(s.requests))
	}
	return s.requests[0], s.bodies[0]
}

// model returns a model of s.
func (s *server) model(t *testing.T) *openai.Model {
	t.Helper()
	return open(t, openai.Options{Model: "test-model", BaseURL: s.URL + "/v1", APIKey: key, HTTPClient: s.Client()})
}

// instead is a client that reaches s, whatever it asks for.
func (s *server) instead() *http.Client {
	transport := s.Client().Transport.(*http.Transport).Clone()
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, s.Listener.Addr().String())
	}
	transport.DisableKeepAlives = true
	return &http.Client{Transport: transport}
}

func open(t *testing.T, options openai.Options) *openai.Model {
	t.Helper()
	m, err := openai.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var hello = model.Request{Messages: []selvage.Message{selvage.UserText("hello")}}

// ask collects the answer to hello.
func ask(t *testing.T, m model.Model) (model.Response, error) {
	t.Helper()
	return model.Collect(m.Stream(t.Context(), hello))
}

// send writes an event stream of frames, each flushed by itself.
func send(w http.ResponseWriter, frames ...string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	for _, frame := range frames {
		// A reader that left early is part of some tests.
		_, _ = fmt.Fprintf(w, "data: %s\n\n", frame)
		w.(http.Flusher).Flush()
	}
}

// frames is a handler that sends frames.
func frames(frames ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { send(w, frames...) }
}

// delta is a frame whose first choice has that delta.
func delta(fields string) string {
	return `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"test-model","choices":[{"index":0,"delta":{` + fields + `},"finish_reason":null}]}`
}

// text is a frame that continues the text.
func text(s string) string { return delta(fmt.Sprintf(`"content":%q`, s)) }

// finish is the frame that ends an answer.
func finish(reason string) string {
	return `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"test-model","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}

const (
	usage = `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"test-model","choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18,"prompt_tokens_details":{"cached_tokens":5},"completion_tokens_details":{"reasoning_tokens":3}}}`
	done  = "[DONE]"
)

// checkError fails the test unless err is of class and keeps the secret.
func checkError(t *testing.T, err error, class model.Class) {
	t.Helper()
	if got := model.ClassOf(err); got != class {
		t.Errorf("class %q of error %v, want %q", got, err, class)
	}
	if shown := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(shown, key) {
		t.Errorf("the error shows the key: %s", shown)
	}
}
