package runner

import (
	"context"
	"sync"
	"time"
)

// pulse does something again and again beside a run, and costs a run nothing
// that is over before the first time: there is a timer, and no goroutine that
// waits for it.
type pulse struct {
	ctx    context.Context // ends with the pulse
	cancel context.CancelFunc
	beat   func(ctx context.Context) bool

	mu    sync.Mutex // held while it beats
	timer *time.Timer
}

// newPulse calls beat each time that so much time has passed since it was called
// last, as long as it reports true and ctx lasts. Its owner stops it.
func newPulse(ctx context.Context, every time.Duration, beat func(ctx context.Context) bool) *pulse {
	p := &pulse{beat: beat}
	p.ctx, p.cancel = context.WithCancel(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = time.AfterFunc(every, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.ctx.Err() == nil && p.beat(p.ctx) {
			p.timer.Reset(every)
		}
	})
	return p
}

// stop ends the pulse. When it returns nothing beats any more.
func (p *pulse) stop() {
	p.cancel()
	p.timer.Stop()
	p.mu.Lock() // until a beat under way is over
	defer p.mu.Unlock()
	p.timer.Stop() // which it may have set anew
}
