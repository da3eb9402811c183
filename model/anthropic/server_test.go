package anthropic_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/anthropic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// key is a secret that no error may show.
const key = "sk-ant-test-4f1c9d"

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
func (s *server) model(t *testing.T) *anthropic.Model {
	t.Helper()
	return open(t, anthropic.Options{Model: "claude-test", BaseURL: s.URL, APIKey: key, HTTPClient: s.Client()})
}

func open(t *testing.T, options anthropic.Options) *anthropic.Model {
	t.Helper()
	m, err := anthropic.New(options)
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

// send writes an event stream of events, each flushed by itself. The name of an
// event is its type.
func send(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	for _, e := range events {
		var named struct{ Type string }
		_ = json.Unmarshal([]byte(e), &named) // garbage is part of some tests
		if named.Type == "" {
			named.Type = "content_block_delta"
		}
		// A reader that left early is part of some tests.
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", named.Type, e)
		w.(http.Flusher).Flush()
	}
}

// events is a handler that sends events.
func events(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { send(w, events...) }
}

const (
	begin = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-test","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"cache_creation_input_tokens":2,"cache_read_input_tokens":6,"output_tokens":1}}}`
	ping  = `{"type":"ping"}`
	shut  = `{"type":"content_block_stop","index":0}`
	done  = `{"type":"message_stop"}`
)

// block opens a block.
func block(fields string) string {
	return `{"type":"content_block_start","index":0,"content_block":{` + fields + `}}`
}

// piece continues the open block.
func piece(kind, field, text string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":%q,%q:%q}}`, kind, field, text)
}

// saying is a block of text in pieces.
func saying(texts ...string) []string {
	said := []string{block(`"type":"text","text":""`)}
	for _, t := range texts {
		said = append(said, piece("text_delta", "text", t))
	}
	return append(said, shut)
}

// calling is a call whose arguments come in pieces.
func calling(id, name string, arguments ...string) []string {
	called := []string{block(fmt.Sprintf(`"type":"tool_use","id":%q,"name":%q,"input":{}`, id, name)), piece("input_json_delta", "partial_json", "")}
	for _, a := range arguments {
		called = append(called, piece("input_json_delta", "partial_json", a))
	}
	return append(called, shut)
}

// finish tells why the answer ended, and what it used.
func finish(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `","stop_sequence":null},"usage":{"output_tokens":7}}`
}

// whole is an answer of blocks that ends for a reason.
func whole(reason string, blocks ...[]string) []string {
	return slices.Concat([]string{begin, ping}, slices.Concat(blocks...), []string{finish(reason), done})
}

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
