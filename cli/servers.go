package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/settings"
	"github.com/selvagehq/selvage/tool"
	"github.com/selvagehq/selvage/tool/mcp"
)

// serverTools is what a tool is called that stands for all of an MCP server's.
const serverTools = "mcp:"

// servers are the MCP servers that a command has connected to.
type servers struct {
	mu   sync.Mutex
	open map[string]*mcp.Client // guarded by mu
}

// client returns the connection to a server that is configured, which is made
// when it is first needed.
func (a *app) client(ctx context.Context, name string) (*mcp.Client, error) {
	a.servers.mu.Lock()
	defer a.servers.mu.Unlock()
	if c := a.servers.open[name]; c != nil {
		return c, nil
	}
	s, err := a.serverOf(name)
	if err != nil {
		return nil, err
	}
	c, err := mcp.Connect(ctx, s, mcp.Options{Logger: a.log})
	if err != nil {
		return nil, unreachableServer(err)
	}
	if a.servers.open == nil {
		a.servers.open = map[string]*mcp.Client{}
	}
	a.servers.open[name] = c
	return c, nil
}

func unreachableServer(err error) error {
	if !errors.Is(err, selvage.ErrUnavailable) {
		return err
	}
	return &failure{exit: exitUnreachable, class: "unavailable", err: err,
		hint: "--log-level info shows what it says; --tool names the tools to go on with, and --tool none takes all away"}
}

// closeServers ends the connections; the processes of servers have ended then.
func (a *app) closeServers() {
	a.servers.mu.Lock()
	defer a.servers.mu.Unlock()
	var all sync.WaitGroup
	for _, c := range a.servers.open {
		all.Go(func() { _ = c.Close() }) // it never fails
	}
	all.Wait()
	a.servers.open = nil
}

// serversChanged reports whether a server may have other tools than before.
func (a *app) serversChanged() bool {
	a.servers.mu.Lock()
	defer a.servers.mu.Unlock()
	for _, c := range a.servers.open {
		if c.Changed() {
			return true
		}
	}
	return false
}

// serverNames are the MCP servers that are configured.
func (a *app) serverNames() []string {
	if a.conf == nil {
		return nil
	}
	var names []string
	for _, v := range a.conf.All() {
		if rest, ok := strings.CutPrefix(v.Key, "mcp."); ok && !strings.Contains(v.Key, "*") {
			name, _, _ := strings.Cut(rest, ".")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// serverOf is what the configuration says about a server.
func (a *app) serverOf(name string) (mcp.Server, error) {
	if !slices.Contains(a.serverNames(), name) {
		return mcp.Server{}, a.noServer(name)
	}
	at := "mcp." + name + "."
	get := func(key string) settings.Value { return a.conf.Get(at + key) }
	s := mcp.Server{Name: name, Dir: get("dir").Text, URL: get("url").Text, Headers: map[string]string{}, Effect: selvage.Effect(get("effect").Text),
		Effects: map[string]selvage.Effect{}, OnUnknown: selvage.OnUnknown(get("on_unknown").Text), Timeout: durationOf(get("timeout").Text)}
	if words := get("command").Words; len(words) > 0 {
		s.Command, s.Args = words[0], slices.Concat(words[1:], get("args").Words)
	}
	if s.Dir == "" {
		s.Dir = a.dir
	}
	for _, variable := range []string{"PATH", "HOME"} {
		if value, ok := a.lookup(variable); ok {
			s.Env = append(s.Env, variable+"="+value)
		}
	}
	for _, v := range a.conf.All() {
		key, ours := strings.CutPrefix(v.Key, at)
		if !ours {
			continue
		}
		if variable, ok := strings.CutPrefix(key, "env."); ok {
			s.Env = append(s.Env, variable+"="+v.Text)
		} else if header, ok := strings.CutPrefix(key, "headers."); ok {
			s.Headers[header] = v.Text
		} else if of, ok := strings.CutPrefix(key, "tools."); ok {
			s.Effects[strings.TrimSuffix(of, ".effect")] = selvage.Effect(v.Text)
		}
	}
	return s, nil
}

// noServer says what to do about a server that is not configured.
func (a *app) noServer(name string) error {
	for _, k := range a.conf.Ignored {
		if strings.HasPrefix(k.Key, "mcp."+name+".") {
			return usage(fmt.Sprintf("%s trust %s lets it count", a.name, quote(filepath.Dir(k.File))),
				"%s:%d: the MCP server %q does not count until you trust this directory", k.File, k.Line, name)
		}
	}
	hint := "put it into your own selvage.yaml: mcp: {" + name + ": {command: [PROGRAM, ARGUMENT]}}, or {url: ...}"
	if names := a.serverNames(); len(names) > 0 {
		hint = "there are " + strings.Join(names, ", ")
	}
	return usage(hint, "there is no MCP server %q here", name)
}

// openServerTools makes the tools that name stands for: all of a server's, or
// the one of it that is named. Ok is false if it cannot be that of a server.
func (a *app) openServerTools(ctx context.Context, name string) (tools []tool.Tool, ok bool, err error) {
	server, all := strings.CutPrefix(name, serverTools)
	if !all {
		if server, _, ok = mcp.Split(name); !ok {
			return nil, false, nil
		}
	}
	c, err := a.client(ctx, server)
	if err != nil {
		return nil, true, err
	}
	if tools, err = c.Tools(ctx); err != nil {
		return nil, true, unreachableServer(err)
	}
	if all {
		return tools, true, nil
	}
	var has []string
	for _, t := range tools {
		if t.Spec().Name == name {
			return []tool.Tool{t}, true, nil
		}
		has = append(has, t.Spec().Name)
	}
	hint := "it has no tools"
	if len(has) > 0 {
		hint = fmt.Sprintf("it has %s; --tool %s%s takes all of them", strings.Join(has, ", "), serverTools, server)
	}
	return nil, true, usage(hint, "the MCP server %s has no tool %q", server, name)
}
