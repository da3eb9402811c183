package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/tool"
	"github.com/selvagehq/selvage/tool/mcp"
)

// stdio is a server that is a child of its client.
func stdio(t *testing.T) mcp.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return mcp.Server{Name: "srv", Command: self, Env: []string{serveVariable + "=stdio"}}
}

// remoteServer is a server process that is reached over HTTP. Stop kills it.
func remoteServer(t *testing.T, address string, env ...string) (s mcp.Server, stop func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append([]string{serveVariable + "=http", "MCP_TEST_ADDRESS=" + address}, env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // it was killed
	})
	t.Cleanup(stop)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return mcp.Server{Name: "srv", URL: "http://" + strings.TrimSpace(line), Headers: map[string]string{"Authorization": "Bearer sesame"}}, stop
}

func connect(t *testing.T, s mcp.Server, opts mcp.Options) *mcp.Client {
	t.Helper()
	if opts.Grace == 0 {
		opts.Grace = 500 * time.Millisecond
	}
	c, err := mcp.Connect(t.Context(), s, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// bound are the tools of a client, by name.
func bound(t *testing.T, c *mcp.Client) map[string]*tool.Bound {
	t.Helper()
	tools, err := c.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*tool.Bound{}
	for _, made := range tools {
		b, err := tool.Bind(made)
		if err != nil {
			t.Fatal(err)
		}
		all[b.Spec().Name] = b
	}
	return all
}

func run(t *testing.T, b *tool.Bound, args string) selvage.ToolResult {
	t.Helper()
	result, _ := b.Run(t.Context(), &tool.Call{Arguments: json.RawMessage(args), IdempotencyKey: "key-1"})
	return result
}

// everywhere runs a test against a server over each transport.
func everywhere(t *testing.T, test func(t *testing.T, s mcp.Server)) {
	t.Helper()
	t.Run("stdio", func(t *testing.T) { t.Parallel(); test(t, stdio(t)) })
	for name, env := range map[string][]string{"http": nil, "http stateless": {"MCP_TEST_STATELESS=1"}, "http json": {"MCP_TEST_JSON=1"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := remoteServer(t, "127.0.0.1:0", env...)
			test(t, s)
		})
	}
}

// The tools of a server are offered with its schemas, to the letter, and with
// the effects it hints at.
func TestTools(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, s mcp.Server) {
		tools := bound(t, connect(t, s, mcp.Options{}))
		for name, want := range map[string]selvage.Effect{"echo": selvage.EffectNone, "meta": selvage.EffectIdempotent, "write": selvage.EffectOnce,
			"plain": selvage.EffectOnce, "get_info": selvage.EffectNone} {
			b := tools["srv__"+name]
			if b == nil {
				t.Errorf("there is no %s", name)
				continue
			}
			spec := b.Spec()
			asks := map[bool]selvage.OnUnknown{true: selvage.OnUnknownAsk}[want == selvage.EffectOnce]
			if spec.Effect != want || spec.OnUnknown != asks || spec.Timeout != mcp.DefaultTimeout || !strings.HasPrefix(spec.Description, "does ") {
				t.Errorf("%s: %+v", name, spec)
			}
			if string(spec.Parameters) != object {
				t.Errorf("schema of %s: %s", name, spec.Parameters)
			}
		}
	})
}

// What is configured about effects counts more than hints.
func TestEffectsAreConfigured(t *testing.T) {
	t.Parallel()
	s := stdio(t)
	s.Effect, s.Effects, s.OnUnknown = selvage.EffectOnce, map[string]selvage.Effect{"write": selvage.EffectIdempotent}, selvage.OnUnknownRetry
	s.Timeout = time.Second
	tools := bound(t, connect(t, s, mcp.Options{}))
	if spec := tools["srv__echo"].Spec(); spec.Effect != selvage.EffectOnce || spec.OnUnknown != selvage.OnUnknownRetry || spec.Timeout != time.Second {
		t.Errorf("echo: %+v", spec)
	}
	if spec := tools["srv__write"].Spec(); spec.Effect != selvage.EffectIdempotent || spec.OnUnknown != "" {
		t.Errorf("write: %+v", spec)
	}
}

// Calls and answers go through unchanged, whatever they are of.
func TestCalls(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, s mcp.Server) {
		tools := bound(t, connect(t, s, mcp.Options{}))
		for _, tt := range []struct {
			name, args, want string
			failed           bool
		}{
			{"echo", `{"n":9007199254740993,"b":"<&>"}`, `{"n":9007199254740993,"b":"<&>"}`, false},
			{"echo", ``, `{}`, false},
			{"get_info", `{}`, "dotted", false},
			{"meta", `{}`, "key-1", false},
			{"twice", `{}`, `{ "n": 9007199254740993 }`, false},
			{"nothing", `{}`, "(no result)", false},
			{"fail", `{}`, "no such page", true},
			{"refuse", `{}`, "the MCP server srv refused the call: not today (code 0)", true},
		} {
			got := run(t, tools["srv__"+tt.name], tt.args)
			if got.Failed != tt.failed || got.Content.Text() != tt.want || len(got.Content) != 1 {
				t.Errorf("%s: %+v; want %q", tt.name, got, tt.want)
			}
		}
		got := run(t, tools["srv__numbers"], `{}`)
		want := selvage.Content{{Type: selvage.PartText, Text: "see data"}, {Type: selvage.PartData, Value: json.RawMessage(`{"n":9007199254740993,"x":1.10}`)}}
		if diff := cmp.Diff(want, got.Content); diff != "" {
			t.Errorf("numbers (-want +got):\n%s", diff)
		}
		got = run(t, tools["srv__parts"], `{}`)
		want = selvage.Content{
			{Type: selvage.PartText, Text: "one"},
			{Type: selvage.PartImage, MediaType: "image/png", Data: []byte("png")},
			{Type: selvage.PartFile, MediaType: "audio/wav", Data: []byte("wav")},
			{Type: selvage.PartText, Text: "resource a file:///a a file"},
			{Type: selvage.PartText, Text: "resource file:///b\ncontent of b"},
			{Type: selvage.PartFile, MediaType: "application/zip", Name: "file:///c", Data: []byte("zip")},
			{Type: selvage.PartText, Text: "(image without bytes)"},
		}
		if diff := cmp.Diff(want, got.Content); diff != "" {
			t.Errorf("parts (-want +got):\n%s", diff)
		}
		got = run(t, tools["srv__big"], `{}`)
		if text := got.Content.Text(); len(text) > 530<<10 || !strings.Contains(text, "(cut: ") || !strings.Contains(text, "(left out: image/png of 1048576 bytes") {
			t.Errorf("big: %d bytes, ends %q", len(text), text[max(0, len(text)-100):])
		}
	})
}

// What a server reports while it works is told, and a cancelled call is
// cancelled there too.
func TestProgressAndCancellation(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, s mcp.Server) {
		records := &records{heard: make(chan struct{})}
		tools := bound(t, connect(t, s, mcp.Options{Logger: slog.New(records)}))
		ctx, cancel := context.WithCancel(t.Context())
		var told []string
		call := &tool.Call{OnProgress: func(text string) {
			if told = append(told, text); len(told) == 2 {
				cancel()
			}
		}}
		result, err := tools["srv__wait"].Run(ctx, call)
		if !result.Failed || !errors.Is(err, context.Canceled) {
			t.Errorf("result %+v, error %v", result, err)
		}
		if diff := cmp.Diff([]string{"1/2 working", "2/2 working"}, told); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
		if s.Command != "" {
			<-records.heard // "wait was cancelled"
		}
		if got := run(t, tools["srv__echo"], `{"a":1}`); got.Content.Text() != `{"a":1}` {
			t.Errorf("after a cancelled call: %+v", got)
		}
	})
}

// records waits for what the server says once its call is cancelled.
type records struct {
	once  sync.Once
	heard chan struct{}
}

func (*records) Enabled(context.Context, slog.Level) bool { return true }
func (r *records) WithAttrs([]slog.Attr) slog.Handler     { return r }
func (r *records) WithGroup(string) slog.Handler          { return r }
func (r *records) Handle(_ context.Context, rec slog.Record) error {
	rec.Attrs(func(a slog.Attr) bool {
		if strings.Contains(a.Value.String(), "wait was cancelled") {
			r.once.Do(func() { close(r.heard) })
		}
		return true
	})
	return nil
}

// A call that takes too long is stopped, and the server goes on.
func TestTimeout(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, s mcp.Server) {
		s.Timeout = 200 * time.Millisecond
		tools := bound(t, connect(t, s, mcp.Options{}))
		result, err := tools["srv__wait"].Run(t.Context(), &tool.Call{})
		if !result.Failed || !errors.Is(err, context.DeadlineExceeded) || result.Content.Text() != "srv__wait took longer than 200ms and was stopped" {
			t.Errorf("result %+v, error %v", result, err)
		}
		if got := run(t, tools["srv__pid"], `{}`); got.Failed {
			t.Errorf("afterwards: %+v", got)
		}
	})
}

// A server that dies fails the call it was busy with, with what it said last,
// and the next call has another.
func TestDeath(t *testing.T) {
	t.Parallel()
	tools := bound(t, connect(t, stdio(t), mcp.Options{}))
	first := run(t, tools["srv__pid"], `{}`).Content.Text()
	got := run(t, tools["srv__die"], `{}`)
	want := "the MCP server srv ended under the call (exit status 3: going down); whether it took effect is unknown. The next call connects to it again."
	if !got.Failed || got.Content.Text() != want {
		t.Errorf("result %+v", got)
	}
	second := run(t, tools["srv__pid"], `{}`)
	if second.Failed || second.Content.Text() == first {
		t.Errorf("after %s comes %+v", first, second)
	}
}

// A server that is started again where it was is found again.
func TestHTTPServerComesBack(t *testing.T) {
	t.Parallel()
	for name, env := range map[string][]string{"http": nil, "stateless": {"MCP_TEST_STATELESS=1"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, stop := remoteServer(t, "127.0.0.1:0", env...)
			tools := bound(t, connect(t, s, mcp.Options{}))
			first := run(t, tools["srv__pid"], `{}`).Content.Text()
			stop()
			if got := run(t, tools["srv__pid"], `{}`); !got.Failed || !strings.Contains(got.Content.Text(), "MCP server srv") {
				t.Errorf("without a server: %+v", got)
			}
			remoteServer(t, strings.TrimPrefix(s.URL, "http://"), env...)
			second := run(t, tools["srv__pid"], `{}`)
			if second.Failed || second.Content.Text() == first {
				t.Errorf("after %s comes %+v", first, second)
			}
		})
	}
}

// Tools that come later are offered when they are asked for again.
func TestListChanged(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]func() mcp.Server{"stdio": func() mcp.Server { return stdio(t) },
		"http": func() mcp.Server { s, _ := remoteServer(t, "127.0.0.1:0"); return s }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connect(t, server(), mcp.Options{})
			tools := bound(t, c)
			if tools["srv__grown"] != nil || c.Changed() {
				t.Fatal("it has grown before it was asked to")
			}
			if got := run(t, tools["srv__grow"], `{}`); got.Failed {
				t.Fatal(got)
			}
			for deadline := time.Now().Add(10 * time.Second); !c.Changed(); {
				if time.Now().After(deadline) {
					t.Fatal("nobody said that it grew")
				}
			}
			tools = bound(t, c)
			if b := tools["srv__grown"]; b == nil || run(t, b, `{}`).Content.Text() != "grown" {
				t.Error("what has grown is not offered")
			}
		})
	}
}

// A server process is given what is configured and the least besides, and ends
// with its client, whatever it is busy with.
func TestProcess(t *testing.T) {
	t.Setenv("SELVAGE_TOKEN", "secret")
	s := stdio(t)
	s.Dir = t.TempDir()
	s.Env = append(s.Env, "COLOUR=blue", "HOME=/nowhere")
	c := connect(t, s, mcp.Options{})
	tools := bound(t, c)
	got := run(t, tools["srv__environ"], `{}`).Content.Text()
	for _, want := range []string{"COLOUR=blue", "HOME=/nowhere", "PATH=", "dir=" + s.Dir} {
		if !strings.Contains(got, want) {
			t.Errorf("the server lacks %s:\n%s", want, got)
		}
	}
	if strings.Contains(got, "secret") {
		t.Errorf("the server was told a secret:\n%s", got)
	}
	pid := run(t, tools["srv__pid"], `{}`).Content.Text()
	begun, ended := make(chan struct{}), make(chan selvage.ToolResult, 1)
	go func() {
		result, _ := tools["srv__stubborn"].Run(context.Background(), &tool.Call{OnProgress: func(string) { close(begun) }})
		ended <- result
	}()
	<-begun
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if got := <-ended; !got.Failed || !strings.Contains(got.Content.Text(), "was closed under the call") {
		t.Errorf("the call under way: %+v", got)
	}
	if err := exec.Command("kill", "-0", pid).Run(); err == nil {
		t.Errorf("process %s goes on", pid)
	}
	if got := run(t, tools["srv__pid"], `{}`); !got.Failed || !strings.Contains(got.Content.Text(), "is closed") {
		t.Errorf("after Close: %+v", got)
	}
	if _, err := c.Tools(t.Context()); !errors.Is(err, selvage.ErrClosed) {
		t.Errorf("tools after Close: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

// What cannot be connected to is told, with what is known of why.
func TestConnectFails(t *testing.T) {
	t.Parallel()
	self := stdio(t)
	lives, _ := remoteServer(t, "127.0.0.1:0")
	for _, tt := range []struct {
		server mcp.Server
		class  error
		want   string
	}{
		{mcp.Server{}, selvage.ErrInvalid, "a name has 1 to 32"},
		{mcp.Server{Name: "a__b", Command: "x"}, selvage.ErrInvalid, "a name has 1 to 32"},
		{mcp.Server{Name: "a_", Command: "x"}, selvage.ErrInvalid, "a name has 1 to 32"},
		{mcp.Server{Name: "a b", Command: "x"}, selvage.ErrInvalid, "a name has 1 to 32"},
		{mcp.Server{Name: "a"}, selvage.ErrInvalid, "either a command that starts it or a URL"},
		{mcp.Server{Name: "a", Command: "x", URL: "http://x"}, selvage.ErrInvalid, "either a command that starts it or a URL"},
		{mcp.Server{Name: "a", URL: "ftp://x"}, selvage.ErrInvalid, "does not begin with http"},
		{mcp.Server{Name: "a", Command: "x", Effect: "some"}, selvage.ErrInvalid, `"some" is not an effect`},
		{mcp.Server{Name: "a", Command: "x", Effects: map[string]selvage.Effect{"t": "some"}}, selvage.ErrInvalid, `"some" is not an effect for its tool t`},
		{mcp.Server{Name: "a", Command: "x", OnUnknown: "probe"}, selvage.ErrInvalid, `use "ask", "retry" or "fail"`},
		{mcp.Server{Name: "a", Command: "/no/such/program"}, selvage.ErrUnavailable, "no such file"},
		{mcp.Server{Name: "a", Command: self.Command, Env: []string{serveVariable + "=broken"}}, selvage.ErrUnavailable, "(exit status 4: no licence found)"},
		{mcp.Server{Name: "a", Command: "cat"}, selvage.ErrUnavailable, "the MCP server a cannot be reached"},
		{mcp.Server{Name: "a", URL: "http://127.0.0.1:1"}, selvage.ErrUnavailable, "connection refused"},
		{mcp.Server{Name: "a", URL: lives.URL}, selvage.ErrUnavailable, "Unauthorized"},
	} {
		c, err := mcp.Connect(t.Context(), tt.server, mcp.Options{Grace: 100 * time.Millisecond})
		if err == nil {
			t.Errorf("%+v was connected to", tt.server)
			_ = c.Close()
			continue
		}
		if !errors.Is(err, tt.class) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%+v: %v; want %q", tt.server, err, tt.want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	mute := mcp.Server{Name: "a", Command: self.Command, Env: []string{serveVariable + "=mute"}}
	if _, err := mcp.Connect(ctx, mute, mcp.Options{Grace: 100 * time.Millisecond}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a mute server: %v", err)
	}
}

// Calls at once do not disturb each other.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, s mcp.Server) {
		tools := bound(t, connect(t, s, mcp.Options{}))
		var done sync.WaitGroup
		for i := range 16 {
			done.Go(func() {
				want := fmt.Sprintf(`{"a":%d}`, i)
				if got, err := tools["srv__echo"].Run(t.Context(), &tool.Call{Arguments: json.RawMessage(want)}); got.Content.Text() != want {
					t.Errorf("call %d: %+v, %v", i, got, err)
				}
			})
		}
		done.Wait()
	})
}
