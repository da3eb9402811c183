package anthropic_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/anthropic"
)

// quiet is a logger for what a server says about its clients.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// pipes is a network inside the process, so that real HTTP can run on the fake
// clock of a synctest bubble.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// hang runs handle behind pipes and measures how its answer ends.
func hang(t *testing.T, limit time.Duration, handle http.HandlerFunc, each func()) (got model.Response, took time.Duration, err error) {
	network := &pipes{make(chan net.Conn), make(chan struct{})}
	s := &http.Server{Handler: handle, ErrorLog: quiet()}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(network) // ends with the server
	}()
	transport := &http.Transport{DialContext: network.dial}
	defer func() {
		transport.CloseIdleConnections()
		_ = s.Close() // what is still open hangs on purpose
		<-ended
	}()
	m := open(t, anthropic.Options{Model: "m", BaseURL: "http://pipe", APIKey: key, IdleTimeout: limit, HTTPClient: &http.Client{Transport: transport}})
	start := time.Now()
	var a model.Accumulator
	for c, streamErr := range m.Stream(t.Context(), hello) {
		if err = streamErr; err != nil {
			break
		}
		a.Add(c)
		each()
	}
	return a.Response(), time.Since(start), err
}

// text opens a block of text.
var text = block(`"type":"text","text":""`)

func TestSilence(t *testing.T) {
	t.Parallel()
	wait := func(r *http.Request) { <-r.Context().Done() }
	tests := map[string]struct {
		limit  time.Duration
		handle http.HandlerFunc
		class  model.Class
		kept   string
		took   time.Duration
	}{
		"before the response": {0, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice who leaves
			wait(r)
		}, model.Transient, "", 5 * time.Minute},
		"before the first frame": {time.Minute, func(w http.ResponseWriter, r *http.Request) {
			send(w)
			w.(http.Flusher).Flush()
			wait(r)
		}, model.Transient, "", time.Minute},
		"after half": {time.Minute, func(w http.ResponseWriter, r *http.Request) {
			send(w, begin, text, piece("text_delta", "text", "half"))
			wait(r)
		}, model.Cut, "half", time.Minute},
		"after an error status": {time.Minute, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(500)
			w.(http.Flusher).Flush()
			wait(r)
		}, model.Transient, "", time.Minute},
		// Each sign of life starts the time again.
		"slow but alive": {time.Minute, func(w http.ResponseWriter, _ *http.Request) {
			send(w, begin, text)
			for range 5 {
				time.Sleep(50 * time.Second)
				send(w, piece("text_delta", "text", "a"))
				time.Sleep(50 * time.Second)
				send(w, ping)
			}
			send(w, shut, finish("end_turn"), done)
		}, "", "aaaaa", 500 * time.Second},
		// Only the end marker is missing: not worth the whole limit.
		"after the finish": {time.Minute, func(w http.ResponseWriter, r *http.Request) {
			send(w, slices.Concat([]string{begin}, saying("all"), []string{finish("end_turn")})...)
			wait(r)
		}, "", "all", 10 * time.Second},
		"after the finish, without a limit": {-1, func(w http.ResponseWriter, r *http.Request) {
			send(w, slices.Concat([]string{begin}, saying("all"), []string{finish("end_turn")})...)
			wait(r)
		}, "", "all", 10 * time.Second},
		// A connection that is not given back is not worth waiting for.
		"after the end": {time.Minute, func(w http.ResponseWriter, r *http.Request) {
			send(w, whole("end_turn", saying("all"))...)
			wait(r)
		}, "", "all", 100 * time.Millisecond},
		"without a limit": {-1, func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(24 * time.Hour)
			send(w, whole("end_turn", saying("late"))...)
		}, "", "late", 24 * time.Hour},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				got, took, err := hang(t, tt.limit, tt.handle, func() {})
				checkError(t, err, tt.class)
				if kept := got.Message.Text(); kept != tt.kept || took != tt.took {
					t.Errorf("kept %q after %s, want %q after %s", kept, took, tt.kept, tt.took)
				}
				if tt.class != "" && !strings.Contains(err.Error(), "sent nothing for ") {
					t.Errorf("error %v, want it to tell of the silence", err)
				}
			})
		})
	}
}

// A caller who takes a long time over a chunk is not a silent server.
func TestASlowReaderIsNotSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		got, _, err := hang(t, time.Minute, events(whole("end_turn", saying("a", "b"))...),
			func() { time.Sleep(time.Hour) })
		if err != nil || got.Message.Text() != "ab" {
			t.Errorf("answer %q, error %v; want ab", got.Message.Text(), err)
		}
	})
}
