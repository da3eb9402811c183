package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/caps"
	"github.com/selvagehq/selvage/internal/settings"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
	"github.com/selvagehq/selvage/tool/builtin"
)

// agentsKey begins the keys of the agents that are defined.
const agentsKey = "agents."

// spawnTool is the tool with which a run has agents do things.
const spawnTool = "spawn_agent"

// agentNames are the agents that the configuration defines, in order.
func (a *app) agentNames() []string {
	if a.conf == nil {
		return nil
	}
	var names []string
	for _, v := range a.conf.All() {
		if rest, ok := strings.CutPrefix(v.Key, agentsKey); ok {
			names = append(names, rest[:strings.LastIndex(rest, ".")])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// checkAgentNames refuses definitions that no run could be recorded under.
func (a *app) checkAgentNames() error {
	for _, v := range a.conf.All() {
		if rest, ok := strings.CutPrefix(v.Key, agentsKey); ok {
			if err := checkAgent(rest[:strings.LastIndex(rest, ".")]); err != nil {
				return usage("", "%s: %v", v.Where, err)
			}
		}
	}
	return nil
}

// defined is what the definition of an agent says about a key, as the
// configuration as a whole calls it.
func (a *app) defined(agent, key string) settings.Value {
	if agent == "" {
		return settings.Value{Source: settings.FromDefault}
	}
	if key == "tools.use" {
		key = "tools"
	}
	return a.conf.Get(agentsKey + agent + "." + key)
}

// ofAgent is what counts for the runs of an agent that people begin: what a
// flag says, else its definition, which own reports, else the configuration.
func (a *app) ofAgent(agent, key string) (v settings.Value, own bool) {
	v = a.conf.Get(key)
	if v.Source == settings.FromFlag {
		return v, false
	}
	if d := a.defined(agent, key); d.Set() {
		return d, true
	}
	return v, false
}

// agents says what the runs of named agents are made of that a run spawns: what
// their definitions say and nothing else, save the models and the way of calling
// tools, which are those of the run where a definition is silent. It is nil if
// no agent is defined.
func (c *conversation) agents(parent *makeup, bounded bool) func(context.Context, string) (runner.Options, error) {
	if len(c.agentNames()) == 0 {
		return nil
	}
	var mu sync.Mutex // what is opened is opened once
	above := *parent
	return func(ctx context.Context, name string) (runner.Options, error) {
		mu.Lock()
		defer mu.Unlock()
		if names := c.agentNames(); !slices.Contains(names, name) {
			return runner.Options{}, &selvage.InvalidError{Field: "agent", Reason: fmt.Sprintf("there is none of that name; there are %s, and one like you if you leave the name out", strings.Join(names, ", "))}
		}
		m, err := c.agentMakeup(name, &above)
		if err != nil {
			return runner.Options{}, err
		}
		get := func(key string) settings.Value { return c.defined(name, key) }
		opts, err := c.options(ctx, &m, limited(runner.Options{AgentID: name, Stop: stopRules(get)}, get), bounded)
		opts.Caps = nil // those of its parent
		if v := get("caps"); v.Set() {
			opts.Caps = append([]string{}, distinct(v.Words)...)
		}
		return opts, err
	}
}

// agentMakeup is what the runs of an agent are made of that another spawns.
func (a *app) agentMakeup(name string, parent *makeup) (makeup, error) {
	m := makeup{agent: name, model: parent.model, fallbacks: parent.fallbacks, toolCalls: parent.toolCalls}
	if v := a.defined(name, "model"); v.Set() {
		m.model, m.fallbacks = a.placed(v.Text), nil
	}
	if v := a.defined(name, "fallbacks"); v.Set() {
		m.fallbacks = a.placedAll(v.Words)
	}
	if v := a.defined(name, "tool_calls"); v.Set() {
		m.toolCalls = selvage.ToolCalls(v.Text)
	}
	m.tools = distinct(a.defined(name, "tools").Words)
	var err error
	m.system, err = a.systemText(a.defined(name, "system").Text)
	return m, err
}

// placedAll are the models of these names.
func (a *app) placedAll(names []string) (placed []string) {
	for _, name := range distinct(names) {
		placed = append(placed, a.placed(name))
	}
	return placed
}

// grants are the capabilities of a run for which none are configured: what its
// tools need and, if it may spawn agents, what those are defined to have. Nil is
// the former alone. It may call its own tools only, whatever it is granted.
func (a *app) grants(tools []tool.Tool) []string {
	if !slices.ContainsFunc(tools, func(t tool.Tool) bool { return t.Spec().Name == spawnTool }) || len(a.agentNames()) == 0 {
		return nil
	}
	var globs []string
	add := func(all ...string) {
		for _, g := range all {
			if !slices.Contains(globs, g) {
				globs = append(globs, g)
			}
		}
	}
	for _, t := range tools {
		spec := t.Spec()
		add(append([]string{caps.Tool(spec.Name)}, spec.Caps...)...)
	}
	for _, name := range a.agentNames() {
		add(distinct(a.defined(name, "caps").Words)...)
		for _, named := range distinct(a.defined(name, "tools").Words) {
			add(a.needsOf(named)...)
		}
	}
	return globs
}

// needsOf are the capabilities that a tool of a name needs, or all tools of an
// MCP server.
func (a *app) needsOf(name string) []string {
	if server, all := strings.CutPrefix(name, serverTools); all {
		return []string{caps.Tool(server + "__*")}
	}
	needs := []string{caps.Tool(name)}
	for _, t := range a.tools {
		if spec := t.Spec(); spec.Name == name {
			needs = append(needs, spec.Caps...)
		}
	}
	return needs
}

// agentHelp is what models are told of the agents that they may have do things.
func (a *app) agentHelp() []builtin.Agent {
	var all []builtin.Agent
	for _, name := range a.agentNames() {
		all = append(all, builtin.Agent{Name: name, About: a.defined(name, "description").Text})
	}
	return all
}
