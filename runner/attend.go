package runner

import (
	"context"
	"time"

	"github.com/selvagehq/selvage"
)

// attention is how often a run whose model or tool is at work looks whether
// its end was asked for.
const attention = time.Second

// attend cancels the run when another process asks for its end, also while a
// model or a tool is at work. It returns what ends the watch and waits for it.
func (x *run) attend(ctx context.Context) (stop func()) {
	if x.stateless || x.out.cancel == nil {
		return func() {}
	}
	end, none := x.out.cancel, 0
	var looked selvage.Version // at it already; what a checkpoint took in may still be unheeded
	return newPulse(ctx, attention, func(ctx context.Context) bool {
		if !x.flying.Load() {
			return true
		}
		head, err := x.store.Load(ctx, x.thread, selvage.LoadOptions{Messages: &none})
		if err != nil || head.Thread.Version == looked || head.OpenRun == nil || head.OpenRun.ID != x.id {
			return true
		}
		looked = head.Thread.Version
		asked := endRequested(head.State, head.OpenCalls)
		if asked != nil {
			end(asked)
		} else {
			x.notice()
		}
		return asked == nil
	}).stop
}

// halted reports why a run cannot go on: its context has ended, or
// somebody asked for its end.
func (x *run) halted(ctx context.Context) error {
	if err := ended(ctx); err != nil {
		return err
	}
	return x.endAsked()
}

// endAsked reports that somebody asked for the end of the run.
func (x *run) endAsked() error {
	var calls []selvage.Call
	for i := range x.open {
		if c := x.journalled(x.open[i].call.ID); c != nil {
			calls = append(calls, *c)
		}
	}
	if asked := endRequested(x.doc, calls); asked != nil {
		return asked
	}
	return nil
}
