package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/settings"
	"github.com/selvagehq/selvage/tool"
	"github.com/selvagehq/selvage/tool/builtin"
)

// noTools is what --tool says to take tools away, and --fallback models.
const noTools = "none"

// maxSystemBytes bounds a system prompt that is read from a file.
const maxSystemBytes = 1 << 20

// makeup is what a run is made of, as far as a thread remembers it.
type makeup struct {
	model     string
	fallbacks []string
	system    string
	tools     []string
	toolCalls selvage.ToolCalls
	agent     string
	// Of a run that is gone on with:
	caps       []string
	summariser string
	spec       *selvage.RunSpec // nil of a run that begins
	offered    []string         // what the tools turned out to be, once they are opened
}

// makeupOf is what a run recorded.
func makeupOf(spec *selvage.RunSpec) makeup {
	m := makeup{model: spec.Model, fallbacks: spec.Fallbacks, system: spec.System, toolCalls: spec.ToolCalls, caps: spec.Caps}
	if m.toolCalls == "" {
		m.toolCalls = selvage.ToolCallsSequential
	}
	if spec.Context != nil {
		m.summariser = spec.Context.Model
	}
	for _, t := range spec.Tools {
		m.tools = append(m.tools, t.Name)
	}
	return m
}

// differences tells what is other in next, or "".
func (m *makeup) differences(next *makeup) string {
	var told []string
	if m.model != next.model {
		told = append(told, fmt.Sprintf("model %s instead of %s", next.model, m.model))
	}
	if !slices.Equal(m.fallbacks, next.fallbacks) {
		told = append(told, fmt.Sprintf("fallbacks %s instead of %s", named(next.fallbacks), named(m.fallbacks)))
	}
	if m.system != next.system {
		told = append(told, "another system prompt")
	}
	if tools := next.opened(); !slices.Equal(m.tools, tools) {
		told = append(told, fmt.Sprintf("tools %s instead of %s", named(tools), named(m.tools)))
	}
	if m.toolCalls != next.toolCalls {
		told = append(told, fmt.Sprintf("tool calls %s instead of %s", next.toolCalls, m.toolCalls))
	}
	if m.agent != next.agent {
		told = append(told, fmt.Sprintf("agent %s instead of %s", orNone(next.agent), orNone(m.agent)))
	}
	return strings.Join(told, ", ")
}

// opened are the names of the tools, those of MCP servers one by one if they
// are known.
func (m *makeup) opened() []string {
	if m.offered != nil {
		return m.offered
	}
	return m.tools
}

func orNone(name string) string {
	if name == "" {
		return "of no name"
	}
	return name
}

func named(tools []string) string {
	if len(tools) == 0 {
		return noTools
	}
	return strings.Join(tools, "+")
}

// resolveMakeup decides what the next run is made of: what flags say, else the
// definition of its agent if the last run was not one of that, else what the
// thread's last run was made of, else the configuration. Choice says how a model
// was found that nobody named.
func (a *app) resolveMakeup(last *makeup) (m makeup, picked *choice, err error) {
	if last != nil {
		m = *last
		m.caps, m.summariser = nil, "" // a new run is granted what its own tools need
	}
	m.agent = a.conf.Get("agent").Text
	counts := func(key string) (settings.Value, bool) {
		v, own := a.ofAgent(m.agent, key)
		return v, last == nil || v.Source == settings.FromFlag || own && last.agent != m.agent
	}
	if v, ok := counts("model"); ok {
		m.model = a.placed(v.Text)
	}
	if v, ok := counts("fallbacks"); ok {
		m.fallbacks = a.placedAll(v.Words)
	}
	if v, ok := counts("system"); ok {
		if m.system, err = a.systemText(v.Text); err != nil {
			return m, nil, err
		}
	}
	if v, ok := counts("tools.use"); ok {
		m.tools = distinct(v.Words)
	}
	if v, ok := counts("tool_calls"); ok {
		m.toolCalls = selvage.ToolCalls(v.Text)
	}
	if m.model == "" {
		chosen, err := a.choose()
		if err != nil {
			return m, nil, err
		}
		m.model, picked = chosen.model, &chosen
	}
	return m, picked, nil
}

// distinct drops repeated names and the name that stands for none.
func distinct(names []string) []string {
	var out []string
	for _, n := range names {
		if n != noTools && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// systemText reads a system prompt: the text itself, or what @FILE holds.
func (a *app) systemText(text string) (string, error) {
	name, fromFile := strings.CutPrefix(text, "@")
	if !fromFile {
		return text, nil
	}
	f, err := os.Open(a.path(name))
	if err != nil {
		return "", usage("a prompt that begins with @ is the name of a file", "system prompt %s: %v", name, cause(err))
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, maxSystemBytes+1))
	switch {
	case err != nil:
		return "", usage("name a readable file", "system prompt %s: %v", name, cause(err))
	case len(data) > maxSystemBytes:
		return "", usage("", "system prompt %s: it has more than %d bytes", name, maxSystemBytes)
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}

// openTools makes the tools of these names: those of the program first, then
// the built-in ones, which keep what they remember in the store, then those of
// MCP servers.
func (a *app) openTools(ctx context.Context, names []string, store selvage.Store) ([]tool.Tool, error) {
	var tools []tool.Tool
	for _, name := range names {
		found, err := a.openTool(ctx, name, store)
		if err != nil {
			return nil, err
		}
		for _, t := range found {
			twice := func(o tool.Tool) bool { return o.Spec().Name == t.Spec().Name }
			if !slices.ContainsFunc(tools, twice) {
				tools = append(tools, t)
			}
		}
	}
	return tools, nil
}

func (a *app) openTool(ctx context.Context, name string, store selvage.Store) ([]tool.Tool, error) {
	for _, t := range a.tools {
		if t.Spec().Name == name {
			return []tool.Tool{t}, nil
		}
	}
	if t, err := builtin.Named(name, a.builtinOptions(store)); err == nil {
		return []tool.Tool{t}, nil
	}
	if tools, ok, err := a.openServerTools(ctx, name); ok {
		return tools, err
	}
	known := a.toolNames()
	hint := "there are " + strings.Join(known, ", ")
	if nearest := settings.Nearest(name, known); nearest != "" {
		hint = "did you mean " + nearest + "?"
	}
	return nil, usage(hint, "there is no tool %q here", name)
}

// builtinOptions is what the configuration says about the built-in tools. What
// they remember is kept in the store, which may be nil.
func (a *app) builtinOptions(store selvage.Store) builtin.Options {
	in := func(key string) string {
		if dir := a.conf.Get(key).Text; dir != "" {
			return dir
		}
		return a.dir
	}
	opts := builtin.Options{
		Agents:    a.agentHelp(),
		Root:      in("tools.append_file.root"),
		OnUnknown: selvage.OnUnknown(a.conf.Get("tools.append_file.on_unknown").Text),
		HTTP:      builtin.HTTP{Allow: a.conf.Get("tools.http_get.allow").Words, Timeout: durationOf(a.conf.Get("tools.http_get.timeout").Text)},
		Shell: builtin.Shell{Allow: a.conf.Get("tools.shell.allow").Words, Dir: in("tools.shell.dir"), Env: a.env,
			Timeout: durationOf(a.conf.Get("tools.shell.timeout").Text)},
	}
	if store != nil {
		opts.Memory, _ = selvage.As[selvage.Memory](store)
	}
	return opts
}

// toolNames are the tools that --tool may name.
func (a *app) toolNames() []string {
	var names []string
	for _, t := range a.tools {
		names = append(names, t.Spec().Name)
	}
	names = append(names, builtin.Names()...)
	for _, server := range a.serverNames() {
		names = append(names, serverTools+server)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
