package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/settings"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/rules"
	"github.com/selvagehq/selvage/runner"
)

// assemble makes the runner of the conversation.
func (c *conversation) assemble(ctx context.Context, onActive runner.OnActive) error {
	r, err := c.runnerOf(ctx, &c.made, c.conf.Get("agent").Text, onActive)
	if err == nil {
		c.runner, c.active = r, onActive
	}
	return err
}

// runnerOf makes a runner of what a run is made of, within the limits that are
// configured.
func (c *conversation) runnerOf(ctx context.Context, m *makeup, agent string, onActive runner.OnActive) (*runner.Runner, error) {
	get := func(key string) settings.Value { v, _ := c.ofAgent(agent, key); return v }
	return c.runnerWith(ctx, m, limited(runner.Options{AgentID: agent, OnActive: onActive, Stop: stopRules(get)}, get))
}

// runnerWith makes a runner of what a run is made of, and of the options that
// are not part of that.
func (c *conversation) runnerWith(ctx context.Context, m *makeup, opts runner.Options) (*runner.Runner, error) {
	bounded := opts.Limits.Spend != nil
	opts, err := c.options(ctx, m, opts, bounded)
	if err != nil {
		return nil, err
	}
	opts.Agents = c.agents(m, bounded)
	return runner.New(opts)
}

// options completes the options of a runner by what a run is made of. If its
// spending is bounded, that of whoever spawns it too, the prices must be known.
func (c *conversation) options(ctx context.Context, m *makeup, opts runner.Options, bounded bool) (runner.Options, error) {
	models, err := c.openModels(m)
	if err != nil {
		return opts, err
	}
	tools, err := c.openTools(ctx, m.tools, c.store)
	if err != nil {
		return opts, err
	}
	if c.stub != nil {
		tools = c.stub(tools)
	}
	m.offered = []string{}
	for _, t := range tools {
		m.offered = append(m.offered, t.Spec().Name)
	}
	if bounded || opts.Limits.Spend != nil {
		for _, answers := range models {
			if err := c.checkPriced(answers); err != nil {
				return opts, err
			}
		}
	}
	if opts.Observers, err = c.observers(); err != nil {
		return opts, err
	}
	opts.Store, opts.Model, opts.Fallbacks, opts.System, opts.Tools = c.store, models[0], models[1:], m.system, tools
	if opts.Summariser, err = c.summariser(m); err != nil {
		return opts, err
	}
	if opts.Rules, opts.Context, err = c.steering(m); err != nil {
		return opts, err
	}
	opts.ContextSizes = c.contextSizes(models)
	opts.MaxChildren, _ = settings.ParseNumber(c.conf.Get("max_children").Text) // it was checked when it was read
	if opts.ToolCalls, opts.Caps, opts.Logger = m.toolCalls, c.granted(m), c.log; opts.Caps == nil {
		opts.Caps = c.grants(tools)
	}
	return opts, nil
}

// steering is the rules and the bounds of what the model is given: those that a
// run recorded, for what it spawns too, else those that are configured.
func (c *conversation) steering(m *makeup) ([]rules.Rule, selvage.ContextRules, error) {
	if m.spec == nil {
		list, err := c.rules()
		return list, c.contextRules(), err
	}
	var list []rules.Rule
	if len(m.spec.Rules) > 0 && json.Unmarshal(m.spec.Rules, &list) != nil {
		list = nil // the runner says that they are not understood
	}
	if _, err := rules.Compile(list); err != nil {
		list = nil
	}
	var bounds selvage.ContextRules
	if m.spec.Context != nil {
		bounds = *m.spec.Context
		bounds.Model = "" // the summariser tells it
	}
	return list, bounds, nil
}

// contextSizes are how many tokens models take, as far as it is configured.
func (c *conversation) contextSizes(models []model.Model) map[string]int {
	sizes := make(map[string]int)
	for _, m := range models {
		// The text was checked when it was read.
		sizes[m.Name()], _ = settings.ParseNumber(c.conf.Get("models." + m.Name() + ".context").Text)
	}
	return sizes
}

// summariser is the model that makes summaries: the one that a recorded run
// names, else the one that is configured; nil is that of the run.
func (c *conversation) summariser(m *makeup) (model.Model, error) {
	name := m.summariser
	if name == "" && m.spec == nil {
		name = c.conf.Get("context.model").Text
	}
	if name == "" || name == m.model {
		return nil, nil
	}
	return c.openModel(name)
}

// checkPriced refuses to bound what cannot be counted.
func (c *conversation) checkPriced(m model.Model) error {
	if p, ok := m.(model.Pricer); ok {
		if _, known := p.Price(); known {
			return nil
		}
	}
	return usage(fmt.Sprintf("put it into your selvage.yaml, in dollars a million tokens: prices: {%s: {input: ..., output: ...}}", m.Name()),
		"spending cannot be bounded, the price of %s is not known", m.Name())
}
