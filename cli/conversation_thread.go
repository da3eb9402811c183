package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/settings"
	"github.com/selvagehq/selvage/runner"
)

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

// recover sees to a run of the thread whose process died: what can go on goes
// on, with what it was made of.
func (c *conversation) recover(ctx context.Context, head *selvage.Head) error {
	if head == nil || head.OpenRun == nil || head.OpenRun.Spec == nil {
		return nil
	}
	was := makeupOf(head.OpenRun.Spec)
	was.spec = head.OpenRun.Spec
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
