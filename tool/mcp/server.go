package mcp

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
)

// Server says how a server is reached, and what is known of its tools. It has
// either a Command or a URL.
type Server struct {
	// Name precedes the names of the tools: 1 to 32 letters, digits, '_' or
	// '-', without "__" and no '_' at the end.
	Name string

	Command string // a program, looked up in PATH
	Args    []string
	Env     []string // "NAME=value", besides PATH and HOME, which are those of this process unless they are here
	Dir     string   // its working directory; empty is that of this process

	URL     string // of streamable HTTP
	Headers map[string]string

	// Effect is that of every tool. Empty takes what the server hints at.
	Effect selvage.Effect

	// Effects are those of single tools, by the server's names for them.
	Effects map[string]selvage.Effect

	// OnUnknown is what becomes of calls of effect once whose outcome a crash
	// left unknown. Empty is [selvage.OnUnknownAsk]. A server cannot be probed.
	OnUnknown selvage.OnUnknown

	// Timeout bounds one call. Zero means [DefaultTimeout], negative no bound.
	Timeout time.Duration
}

// DefaultTimeout bounds a call of a tool.
const DefaultTimeout = 5 * time.Minute

// Options is what a [Client] is given besides its server. The zero value works.
type Options struct {
	// Logger receives what a server writes to its standard error at Info, what
	// it logs at Debug, and tools that cannot be offered at Warn. Nil discards.
	Logger *slog.Logger

	// Transport carries HTTP requests. Nil means one of the client's own.
	Transport http.RoundTripper

	// Grace is how long a process may take to end once its input is closed,
	// and again when it has been asked to, before it is killed. Zero means 2
	// seconds.
	Grace time.Duration
}

// connectTimeout bounds starting a server and greeting it. A server that is
// fetched before it starts takes its time.
const connectTimeout = 60 * time.Second

var namePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// check reports what is wrong with a server as an [selvage.InvalidError].
func (s *Server) check() error {
	bad := func(format string, args ...any) error {
		return &selvage.InvalidError{Field: fmt.Sprintf("MCP server %q", s.Name), Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case !namePattern.MatchString(s.Name) || strings.Contains(s.Name, separator) || strings.HasSuffix(s.Name, "_"):
		return bad("a name has 1 to 32 letters, digits, '_' or '-', no two '_' in a row and none at its end")
	case (s.Command == "") == (s.URL == ""):
		return bad("it has either a command that starts it or a URL that it answers at")
	case s.OnUnknown != "" && s.OnUnknown != selvage.OnUnknownAsk && s.OnUnknown != selvage.OnUnknownRetry && s.OnUnknown != selvage.OnUnknownFail:
		return bad(`%q is not offered for calls of unknown outcome; use "ask", "retry" or "fail"`, s.OnUnknown)
	}
	for name, e := range s.Effects {
		if !known(e) {
			return bad("%q is not an effect for its tool %s; use none, idempotent or once", e, name)
		}
	}
	if s.Effect != "" && !known(s.Effect) {
		return bad("%q is not an effect; use none, idempotent or once", s.Effect)
	}
	if s.URL == "" {
		return nil
	}
	if at, err := url.Parse(s.URL); err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		return bad("its URL does not begin with http:// or https:// and a host")
	}
	return nil
}

func known(e selvage.Effect) bool {
	return e == selvage.EffectNone || e == selvage.EffectIdempotent || e == selvage.EffectOnce
}
