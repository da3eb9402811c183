package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/settings"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/store/inmem"
	"github.com/selvagehq/selvage/tool"
)

// conversation is one thread and what its next run is made of.
type conversation struct {
	*app
	store  selvage.Store // nil: nothing is kept, not even from turn to turn
	id     selvage.ThreadID
	made   makeup
	runner *runner.Runner
	active runner.OnActive
	run    selvage.RunID         // of the next turn; empty is a new one
	update *selvage.ThreadUpdate // what the first turn says about the thread
	show   *teller
	begun  func(*runner.Event)           // told that a turn waits for its thread, and what is recorded of it; may be nil
	stub   func([]tool.Tool) []tool.Tool // what tools are replaced by; nil leaves them
	fresh  bool                          // the thread is new, and that has not been told
}

// opening is what a conversation is begun with.
type opening struct {
	thread   string        // its id; empty is a new one
	latest   bool          // the thread that was updated last
	run      selvage.RunID // the run to lead; if there is one, its thread is meant
	onActive runner.OnActive
}

// beginAsk makes a conversation of one turn of which nothing is kept.
func (a *app) beginAsk(ctx context.Context) (*conversation, error) {
	made, picked, err := a.resolveMakeup(nil)
	if err != nil {
		return nil, err
	}
	c := &conversation{app: a, made: made, show: newTeller(a)}
	if err := c.assemble(ctx, runner.Queue); err != nil {
		return nil, err
	}
	c.notePicked(picked)
	return c, nil
}

// beginChat opens the store and the thread. What cannot be is found before
// anything is made.
func (a *app) beginChat(ctx context.Context, o opening) (_ *conversation, err error) {
	c := &conversation{app: a, show: newTeller(a)}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	if a.keeps() {
		c.store, err = a.openStore(ctx, forReading)
		if err != nil && !missingStore(err) {
			return nil, err
		}
	}
	thread, err := c.find(ctx, o)
	if err != nil {
		return nil, err
	}
	last, err := c.lastMakeup(ctx, thread)
	if err != nil {
		return nil, err
	}
	if err := c.belong(thread); err != nil {
		return nil, err
	}
	var picked *choice
	if c.made, picked, err = a.resolveMakeup(last); err != nil {
		return nil, err
	}
	if err := c.assemble(ctx, o.onActive); err != nil { // without the store: a check
		return nil, err
	}
	if c.store == nil {
		if c.store, err = a.makeStore(ctx); err != nil {
			return nil, err
		}
	}
	if err := c.assemble(ctx, o.onActive); err != nil {
		return nil, err
	}
	c.noteThread(thread, last, picked)
	return c, c.recover(ctx, thread)
}

// memoryStore is the store of which nothing is left.
const memoryStore = "memory:"

// makeStore makes the store that does not exist yet.
func (a *app) makeStore(ctx context.Context) (selvage.Store, error) {
	if !a.keeps() {
		return inmem.New(inmem.Options{}), nil
	}
	return a.openStore(ctx, forWriting)
}

// kept reports whether anybody can come back to the conversation.
func (c *conversation) kept() bool {
	return c.store != nil && !c.forgets()
}

// forgets reports whether what is recorded goes with this process.
func (a *app) forgets() bool {
	if !a.keeps() {
		return true
	}
	url, err := a.storeURL()
	return err != nil || url == memoryStore
}

func (c *conversation) close() error {
	if c.store == nil {
		return nil
	}
	return c.store.Close()
}

// find decides which thread it is, and loads its head; nil if it is new.
func (c *conversation) find(ctx context.Context, o opening) (*selvage.Head, error) {
	c.id = selvage.ThreadID(o.thread)
	if o.latest {
		id, err := c.latest(ctx)
		if err != nil {
			return nil, err
		}
		c.id = id
	}
	if err := c.findByRun(ctx, o.run); err != nil {
		return nil, err
	}
	if c.id == "" {
		c.id = selvage.ThreadID(selvage.NewID())
		return nil, nil
	}
	if c.store == nil {
		return nil, nil
	}
	none := 0
	head, err := c.store.Load(ctx, c.id, selvage.LoadOptions{Messages: &none})
	if errors.Is(err, selvage.ErrNotFound) {
		return nil, nil
	}
	return &head, err
}

// findByRun makes sure that a run which there is already belongs to the thread,
// which is that of the run if no other is named.
func (c *conversation) findByRun(ctx context.Context, id selvage.RunID) error {
	if id == "" || c.store == nil {
		return nil
	}
	run, err := findRun(ctx, c.store, id)
	if err != nil {
		if errors.Is(err, selvage.ErrNotFound) {
			return nil
		}
		return err
	}
	if c.id == "" {
		c.id = run.ThreadID
	}
	return c.belongs(run)
}

// belongs reports a run that is one of another thread.
func (c *conversation) belongs(run *selvage.Run) error {
	if run.ThreadID == c.id {
		return nil
	}
	return &failure{exit: exitConflict, class: "already_exists", err: fmt.Errorf("run %s is one of thread %s, not of %s", run.ID, run.ThreadID, c.id),
		hint: "give it another --id; `" + c.again("run", "show", quote(string(run.ID))) + "` shows that one", details: runFacts(run)}
}

// latest is the thread that was updated last, of the user if one is named.
func (c *conversation) latest(ctx context.Context) (selvage.ThreadID, error) {
	missing := &failure{exit: exitNotFound, class: "not_found", err: errors.New("there is no thread to go on with"),
		hint: fmt.Sprintf("`%s chat` begins one", c.name)}
	if c.store == nil {
		return "", missing
	}
	one := 1
	q := selvage.ThreadQuery{Order: selvage.ByUpdated, Limit: &one}
	if v := c.conf.Get("user"); v.Source == settings.FromFlag {
		q.UserID = v.Text
	}
	page, err := c.store.Threads(ctx, q)
	switch {
	case err != nil:
		return "", err
	case len(page.Items) == 0:
		return "", missing
	}
	return page.Items[0].ID, nil
}

// lastMakeup is what the last run of the thread was made of; nil if there was
// none.
func (c *conversation) lastMakeup(ctx context.Context, head *selvage.Head) (*makeup, error) {
	if head == nil || head.Thread.LatestRunID == "" {
		return nil, nil
	}
	one := 1
	page, err := c.store.Runs(ctx, selvage.RunQuery{ThreadID: c.id, Limit: &one})
	if err != nil || len(page.Items) == 0 || page.Items[0].Spec == nil {
		return nil, err
	}
	m := makeupOf(page.Items[0].Spec)
	m.agent = page.Items[0].AgentID
	return &m, nil
}

// belong makes sure that a thread is not taken for another user's, and says
// whom a new one belongs to.
func (c *conversation) belong(head *selvage.Head) error {
	v := c.conf.Get("user")
	if v.Text == "" {
		return nil
	}
	if err := selvage.CheckID("user", v.Text); err != nil {
		return err
	}
	if head != nil && head.Thread.UserID != "" && head.Thread.UserID != v.Text {
		if v.Source != settings.FromFlag {
			c.note("thread %s belongs to user %s, and stays theirs although %s says %s", c.id, head.Thread.UserID, v.Where, v.Text)
			return nil
		}
		return &failure{exit: exitConflict, class: "conflict", err: fmt.Errorf("thread %q belongs to user %q, not %q", c.id, head.Thread.UserID, v.Text),
			hint: "leave --user out, or begin a new thread"}
	}
	taken := head != nil && head.Thread.UserID == "" && v.Source == settings.FromFlag
	if taken {
		c.note("thread %s belonged to nobody; from now on it is user %s's", c.id, v.Text)
	}
	if head == nil || taken {
		c.update = &selvage.ThreadUpdate{UserID: &v.Text}
	}
	return nil
}

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
	return c.runnerWith(ctx, m, runner.Options{AgentID: agent, OnActive: onActive, Limits: c.limits(), Stop: c.stopRules()})
}

// runnerWith makes a runner of what a run is made of, and of the options that
// are not part of that.
func (c *conversation) runnerWith(ctx context.Context, m *makeup, opts runner.Options) (*runner.Runner, error) {
	models, err := c.openModels(m)
	if err != nil {
		return nil, err
	}
	tools, err := c.openTools(ctx, m.tools, c.store)
	if err != nil {
		return nil, err
	}
	if c.stub != nil {
		tools = c.stub(tools)
	}
	m.offered = []string{}
	for _, t := range tools {
		m.offered = append(m.offered, t.Spec().Name)
	}
	if opts.Limits.Spend != nil {
		for _, answers := range models {
			if err := c.checkPriced(answers); err != nil {
				return nil, err
			}
		}
	}
	observers, err := c.observers()
	if err != nil {
		return nil, err
	}
	opts.Store, opts.Model, opts.Fallbacks, opts.System, opts.Tools = c.store, models[0], models[1:], m.system, tools
	summariser, err := c.summariser(m)
	if err != nil {
		return nil, err
	}
	if opts.Rules, err = c.rules(); err != nil {
		return nil, err
	}
	opts.Context, opts.ContextSizes, opts.Summariser = c.contextRules(), c.contextSizes(models), summariser
	opts.MaxChildren, _ = settings.ParseNumber(c.conf.Get("max_children").Text) // it was checked when it was read
	opts.ToolCalls, opts.Caps, opts.Observers, opts.Logger = m.toolCalls, c.granted(m), observers, c.log
	return runner.New(opts)
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
	if name == "" {
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

// recover sees to a run of the thread whose process died: what can go on goes
// on, with what it was made of.
func (c *conversation) recover(ctx context.Context, head *selvage.Head) error {
	if head == nil || head.OpenRun == nil || head.OpenRun.Spec == nil {
		return nil
	}
	was := makeupOf(head.OpenRun.Spec)
	r, err := c.runnerOf(ctx, &was, head.OpenRun.AgentID, runner.Queue)
	if err != nil {
		// It cannot go on here; the next run of the thread ends it and says so.
		return nil
	}
	all, err := r.Recover(ctx, c.id)
	for _, one := range all {
		c.note("%s", one)
	}
	return err
}

// goOn is the command that continues the conversation.
func (c *conversation) goOn() string { return c.again("chat", "--thread", quote(string(c.id))) }
