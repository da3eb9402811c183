package tui

import (
	"context"
	"iter"
	"sync"

	tea "charm.land/bubbletea/v2"

	"github.com/selvagehq/selvage/runner"
)

// crew owns the goroutines that call the conversation, and waits for them.
type crew struct {
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
}

func newCrew(ctx context.Context) *crew {
	ctx, cancel := context.WithCancel(ctx)
	return &crew{ctx: ctx, cancel: cancel}
}

// leave ends what goes on and waits for it.
func (c *crew) leave() {
	c.cancel()
	c.work.Wait()
}

// do begins f and returns the command that brings its message.
func (c *crew) do(f func(ctx context.Context) tea.Msg) tea.Cmd {
	said := make(chan tea.Msg, 1)
	c.work.Go(func() { said <- f(c.ctx) })
	return func() tea.Msg { return <-said }
}

// maxQueued bounds the events that wait for a screen that is slower than the
// run; the run then waits for the screen.
const maxQueued = 1 << 12

// pump brings the events of one turn to the screen: as many at a time as have
// come meanwhile, so that a fast model costs no more renderings than a slow
// screen can do.
type pump struct {
	stop context.CancelFunc
	wake chan struct{} // holds one: there is something
	room chan struct{} // holds one: something was taken

	mu     sync.Mutex
	events []runner.Event
	failed error
	over   bool
}

// batch is what a pump brought. Over is that nothing follows.
type batch struct {
	from   *pump
	events []runner.Event
	failed error
	over   bool
}

// pump begins to range over a turn.
func (c *crew) pump(begin func(ctx context.Context) iter.Seq2[runner.Event, error]) *pump {
	ctx, stop := context.WithCancel(c.ctx)
	p := &pump{stop: stop, wake: make(chan struct{}, 1), room: make(chan struct{}, 1)}
	c.work.Go(func() {
		defer stop()
		for e, err := range begin(ctx) {
			p.put(ctx, e, err)
		}
		p.mu.Lock()
		p.over = true
		p.mu.Unlock()
		signal(p.wake)
	})
	return p
}

func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// put queues an event. When the turn is to end it never waits: the run must
// come to its end whether anybody looks or not.
func (p *pump) put(ctx context.Context, e runner.Event, err error) {
	for {
		p.mu.Lock()
		if len(p.events) < maxQueued || ctx.Err() != nil {
			break
		}
		p.mu.Unlock()
		select {
		case <-p.room:
		case <-ctx.Done():
		}
	}
	if err != nil {
		p.failed = err
	} else if n := len(p.events); n > 0 && joins(&p.events[n-1], &e) {
		p.events[n-1].Text += e.Text
		p.events[n-1].Note += e.Note
	} else {
		p.events = append(p.events, e)
	}
	p.mu.Unlock()
	signal(p.wake)
}

// maxJoined bounds the text of an event that others were joined to.
const maxJoined = 1 << 12

// joins reports whether b only goes on with the text of a.
func joins(a, b *runner.Event) bool {
	return a.Kind == b.Kind && a.MessageID == b.MessageID && len(a.Text)+len(a.Note) < maxJoined &&
		(a.Kind == runner.EventDelta || a.Kind == runner.EventReasoning)
}

// next waits for what comes.
func (p *pump) next() tea.Msg {
	<-p.wake
	p.mu.Lock()
	defer p.mu.Unlock()
	b := batch{from: p, events: p.events, failed: p.failed, over: p.over}
	p.events, p.failed = nil, nil
	signal(p.room)
	return b
}
