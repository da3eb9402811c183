package runner

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
)

// While a model answers, calls of earlier turns may wait for decisions. One that
// is decided then goes on at once, beside the answer, and its result reaches the
// model with the next request.

// part is what comes of a stream.
type part struct {
	chunk model.Chunk
	err   error
}

// beside is a stream that is heard while calls go on. It belongs to the
// goroutine of the run.
type beside struct {
	parts <-chan part // nil once it is over
	take  func(model.Chunk, error) bool
}

func (b *beside) hear(p part, more bool) {
	if !more || !b.take(p.chunk, p.err) {
		b.parts = nil
	}
}

// arriving is what comes of the stream that is heard beside; nil if none is.
func (x *run) arriving() <-chan part {
	if x.beside == nil {
		return nil
	}
	return x.beside.parts
}

// receive hands on what comes of the answer of a model, as long as take wants
// more. If calls of the run wait, the stream is read in a goroutine of its own,
// so that a decision about them need not wait for it. The error is one that ends
// the run.
func (q *inquiry) receive(ctx, inside context.Context, from model.Model, take func(model.Chunk, error) bool) error {
	x := q.x
	if !x.anySuspended(x.open) {
		for chunk, err := range from.Stream(inside, q.req) {
			if !take(chunk, err) {
				break
			}
		}
		return nil
	}
	inside, stop := context.WithCancel(inside)
	parts := make(chan part)
	var reader sync.WaitGroup
	var crash any
	defer func() {
		stop()
		if reader.Wait(); crash != nil {
			panic(crash) // where whoever leads the run can see to it, as without the goroutine
		}
	}()
	reader.Go(func() {
		defer close(parts)
		defer func() {
			if crash = recover(); crash != nil {
				x.log.ErrorContext(ctx, "model panicked", "run", x.id, "model", from.Name(), "panic", crash, "stack", string(debug.Stack()))
			}
		}()
		for chunk, err := range from.Stream(inside, q.req) {
			select {
			case parts <- part{chunk, err}:
			case <-inside.Done():
				return
			}
		}
	})
	x.beside = &beside{parts, take}
	defer func() { x.beside = nil }()
	for x.beside.parts != nil {
		select {
		case p, more := <-x.beside.parts:
			x.beside.hear(p, more)
		case <-x.noticed:
			if err := x.meanwhile(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// pause waits before the next attempt. Decisions do not wait for that either.
func (q *inquiry) pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for q.broke == nil {
		select {
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		case <-q.x.noticed:
			if q.x.anySuspended(q.x.open) {
				q.broke = q.x.meanwhile(ctx)
			}
		}
	}
}

// meanwhile takes in what others have appended, and sees to the calls that can
// go on with that. What comes of it is recorded. The error is one that ends the
// run: also that its end was asked for.
func (x *run) meanwhile(ctx context.Context) error {
	err := x.absorb(ctx)
	x.flush()
	if cause := ended(ctx); err != nil && cause != nil {
		return cause
	}
	if err != nil {
		return &StateError{ThreadID: x.thread, RunID: x.id, Reason: selvage.ReasonToolResults, Err: err}
	}
	todo, err := x.due(ctx)
	if err != nil || len(todo) == 0 {
		return err
	}
	if err := x.perform(ctx, todo); err != nil || x.pending.empty() {
		return err
	}
	return x.checkpoint(ctx, checkpoint{reason: selvage.ReasonToolResults})
}

// notice has the goroutine of the run look at what was appended, when it can.
func (x *run) notice() {
	select {
	case x.noticed <- struct{}{}:
	default: // it is told already
	}
}

// lateSince reports whether messages that were recorded after a model was asked
// have results of a run, which it was not given for that answer.
func lateSince(messages []selvage.Message, sent *frame, run selvage.RunID) bool {
	for i := len(messages) - 1; sent != nil && i >= 0 && messages[i].Seq > sent.ToSeq; i-- {
		if m := &messages[i]; m.Role == selvage.RoleTool && m.RunID == run {
			return true
		}
	}
	return false
}
