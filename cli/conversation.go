package cli

import (
	"context"
	"errors"

	"github.com/selvagehq/selvage"
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
