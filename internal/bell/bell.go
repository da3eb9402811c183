// Package bell wakes goroutines that wait for news. Who rings pays next to
// nothing while nobody waits.
package bell

import (
	"context"
	"sync"
	"sync/atomic"
)

// Bells are bells with names. The zero value is ready to use. All methods are
// safe for concurrent use.
type Bells[K comparable] struct {
	ears atomic.Int64 // goroutines that wait

	mu     sync.Mutex // guards what follows
	bells  map[K]*bell
	closed bool
}

// bell is one that somebody waits for.
type bell struct {
	rung chan struct{} // closed by the next ring
	ears int
}

// Ring wakes those who wait for one of the bells.
func (b *Bells[K]) Ring(names ...K) {
	if b.ears.Load() == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range names {
		if t := b.bells[name]; t != nil {
			b.ring(t)
		}
	}
}

// RingAll wakes everybody.
func (b *Bells[K]) RingAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.bells {
		b.ring(t)
	}
}

// ring wakes those who wait for t. Bells that are closed stay rung.
func (b *Bells[K]) ring(t *bell) {
	if b.closed {
		return
	}
	close(t.rung)
	t.rung = make(chan struct{})
}

// Close wakes everybody, and whoever waits from now on at once, so that each
// looks what has become of what it waits for.
func (b *Bells[K]) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.closed = true
	for _, t := range b.bells {
		close(t.rung)
	}
}

// Waiting is how many goroutines wait.
func (b *Bells[K]) Waiting() int { return int(b.ears.Load()) }

// Names are the bells that somebody waits for.
func (b *Bells[K]) Names() []K {
	b.mu.Lock()
	defer b.mu.Unlock()
	names := make([]K, 0, len(b.bells))
	for name := range b.bells {
		names = append(names, name)
	}
	return names
}

// Wait calls look until it has found something or fails: at once, and then
// after each ring of the bell. A ring during a look is not missed. After Close
// look must fail. If the context ends first, its error is returned.
func (b *Bells[K]) Wait(ctx context.Context, name K, look func() (found bool, err error)) error {
	t := b.listen(name)
	defer b.leave(name, t)
	for {
		rung := b.next(t)
		if found, err := look(); found || err != nil {
			return err
		}
		select {
		case <-rung:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (b *Bells[K]) listen(name K) *bell {
	b.ears.Add(1)
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.bells[name]
	if t == nil {
		if b.bells == nil {
			b.bells = make(map[K]*bell)
		}
		t = &bell{rung: make(chan struct{})}
		if b.closed {
			close(t.rung)
		}
		b.bells[name] = t
	}
	t.ears++
	return t
}

func (b *Bells[K]) next(t *bell) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return t.rung
}

func (b *Bells[K]) leave(name K, t *bell) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.ears--; t.ears == 0 {
		delete(b.bells, name)
	}
	b.ears.Add(-1)
}
