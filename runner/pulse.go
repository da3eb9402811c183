package runner

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// pulse does something again and again beside a run, and costs a run nothing
// that is over before the first time: there is a timer, and no goroutine that
// waits for it.
type pulse struct {
	beat func(ctx context.Context) bool
	over atomic.Pointer[context.CancelFunc] // of the beat under way

	mu      sync.Mutex // held while it beats
	timer   *time.Timer
	stopped atomic.Bool
}

// newPulse calls beat each time that so much time has passed since it was called
// last, as long as it reports true and ctx lasts. Its owner stops it.
func newPulse(ctx context.Context, every time.Duration, beat func(ctx context.Context) bool) *pulse {
	p := &pulse{beat: beat}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = time.AfterFunc(every, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		p.over.Store(&cancel)
		if !p.stopped.Load() && ctx.Err() == nil && p.beat(ctx) {
			p.timer.Reset(every)
		}
	})
	return p
}

// stop ends the pulse. When it returns nothing beats any more.
func (p *pulse) stop() {
	p.stopped.Store(true)
	if cancel := p.over.Load(); cancel != nil {
		(*cancel)() // it finds stopped otherwise
	}
	p.timer.Stop()
	p.mu.Lock() // until a beat under way is over
	defer p.mu.Unlock()
	p.timer.Stop() // which it may have set anew
}
