package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/selvagehq/selvage/cli"
)

// collector keeps what is sent to it.
type collector struct {
	mu   sync.Mutex
	sent bytes.Buffer
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		if unzipped, err := gzip.NewReader(r.Body); err == nil {
			body = unzipped
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = io.Copy(&c.sent, io.MultiReader(strings.NewReader(r.URL.Path+"\n"), body)) // what is missing is found missing
	w.WriteHeader(http.StatusOK)
}

// The spans of a command reach the collector before the command is over.
func TestTracesAreSent(t *testing.T) {
	c := &collector{}
	server := httptest.NewServer(c)
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	var errs, out bytes.Buffer
	observers, flush := traces(os.Getenv, &errs)
	code := cli.Main(cli.Options{Observers: observers, Args: []string{"ask", "--model", "sim/echo", "--agent", "weaver", "hello secret"},
		Env: []string{"HOME=" + t.TempDir()}, Dir: t.TempDir(), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs})
	flush()
	c.mu.Lock()
	defer c.mu.Unlock()
	sent := c.sent.String()
	if code != 0 || errs.Len() > 0 || !strings.HasPrefix(sent, "/v1/traces\n") {
		t.Errorf("exit %d, %q on stderr, sent to %.20q", code, errs.String(), sent)
	}
	for _, want := range []string{"invoke_agent weaver", "chat echo", "turn 1", "service.name", "selvage"} {
		if !strings.Contains(sent, want) {
			t.Errorf("the collector was sent nothing of %q", want)
		}
	}
	if strings.Contains(sent, "secret") {
		t.Error("the collector was sent what was said")
	}
}

// Without a collector nothing is begun.
func TestNoTraces(t *testing.T) {
	t.Parallel()
	for _, env := range []map[string]string{nil, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"}} {
		observers, flush := traces(func(name string) string { return env[name] }, io.Discard)
		flush()
		if observers != nil {
			t.Errorf("%v: there is an observer", env)
		}
	}
}
