package postgres

import (
	"context"
	"sync"
)

// gates let the appends of one thread pass one at a time. They would wait for
// each other in the database anyway, each with a connection in its hands, and
// all but one in vain. What another process appends is met there.
type gates struct {
	mu   sync.Mutex // guards what follows
	open map[threadKey]*gate
}

type gate struct {
	pass  chan struct{} // holds one token while nobody is inside
	users int           // inside or waiting
}

func newGates() *gates { return &gates{open: make(map[threadKey]*gate)} }

// enter waits for its turn. The function it returns ends it.
func (g *gates) enter(ctx context.Context, k threadKey) (leave func(), err error) {
	g.mu.Lock()
	t := g.open[k]
	if t == nil {
		t = &gate{pass: make(chan struct{}, 1)}
		t.pass <- struct{}{}
		g.open[k] = t
	}
	t.users++
	g.mu.Unlock()
	select {
	case <-t.pass:
		return func() { t.pass <- struct{}{}; g.done(k, t) }, nil
	case <-ctx.Done():
		g.done(k, t)
		return nil, ctx.Err()
	}
}

func (g *gates) done(k threadKey, t *gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.users--; t.users == 0 {
		delete(g.open, k)
	}
}
