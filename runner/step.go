package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/tool"
)

// longSleep is from when on a sleeping call is suspended, so that its process
// may end.
const longSleep = 10 * time.Second

// errNoCall is for a step that is taken outside of a call.
var errNoCall = fmt.Errorf("runner.Step, Sleep and Await are for the Run of a tool, with the context that it is given: %w", selvage.ErrUnsupported)

// Step runs a part of a tool call once. Its result is recorded before Step
// returns, and when the call is run again, after a crash or a suspension, Step
// returns it without running the part again. The name is unique in the call,
// and ctx is the one that the tool's Run was given.
//
// An error of the part is returned as it is, and nothing is recorded: the part
// is run again with the call. What is returned must become JSON of at most
// 1 MiB and be made of it again. If the result cannot be recorded the run ends,
// and Step returns why.
func Step[T any](ctx context.Context, name string, part func(context.Context) (T, error)) (T, error) {
	var result, none T
	w, err := workerOf(ctx, "step", name)
	if err != nil {
		return none, err
	}
	known, err := w.recall(w.place("done", name), &result)
	if known || err != nil {
		return result, err
	}
	if result, err = part(ctx); err != nil {
		return none, err
	}
	if err := w.record(w.place("done", name), result, nil); err != nil {
		return none, err
	}
	return result, nil
}

// Sleep makes a tool call wait for d from when it was first called with the
// name, which is unique in the call. When it is to wake is recorded once, so
// that neither a crash nor a suspension makes it sleep longer. A long rest
// suspends the call: Sleep then returns an error that the tool returns as it
// is, the process may end, and the call is run again when its time has come.
func Sleep(ctx context.Context, name string, d time.Duration) error {
	w, err := workerOf(ctx, "sleep", name)
	if err != nil || d <= 0 {
		return err
	}
	var wake time.Time
	known, err := w.recall(w.place("wake", name), &wake)
	if err != nil {
		return err
	}
	now := w.x.r.opts.Now()
	if !known {
		wake = now.Add(d).UTC().Truncate(selvage.TimePrecision)
		if err := w.record(w.place("wake", name), wake, nil); err != nil {
			return err
		}
	}
	rest := wake.Sub(now)
	if rest > longSleep && !w.x.stateless {
		return tool.Suspend(selvage.Ticket{Reason: selvage.WaitExternalEvent, Until: &wake,
			Message: fmt.Sprintf("%s sleeps until %s", w.task.call.Name, wake.Format(time.RFC3339))})
	}
	return sleep(ctx, rest)
}

// Await makes a tool call wait for a signal, which [Signal] sends, also before
// it is awaited, and returns what the signal says. Each signal is taken once,
// and a call that is run again gets the one that it took. If there is none yet,
// Await returns an error that the tool returns as it is, which suspends the
// call: the process may end, and the call is run again when the signal has come.
func Await[T any](ctx context.Context, signal string) (T, error) {
	var said, none T
	w, err := workerOf(ctx, "signal", signal)
	if err != nil {
		return none, err
	}
	known, err := w.recall(w.place("got", signal), &said)
	if known || err != nil {
		return said, err
	}
	var payload json.RawMessage
	if !w.ask(func() { payload, err = w.takeSignal(signal) }) {
		return none, errCallOver
	}
	switch {
	case err != nil:
		return none, err
	case payload == nil:
		return none, tool.Suspend(selvage.Ticket{Reason: selvage.WaitExternalEvent, Signal: signal,
			Message: fmt.Sprintf("%s waits for signal %s", w.task.call.Name, signal)})
	}
	if err := json.Unmarshal(payload, &said); err != nil {
		return none, fmt.Errorf("signal %s: %w", signal, err)
	}
	return said, nil
}

// errCallOver is for a step of a tool that has returned.
var errCallOver = errors.New("the call is over")

// workerOf finds the call that a context belongs to.
func workerOf(ctx context.Context, kind, name string) (*worker, error) {
	w, ok := ctx.Value(workerKey{}).(*worker)
	if !ok {
		return nil, errNoCall
	}
	return w, selvage.CheckID(kind, name)
}

// place is where a call keeps what one of its steps came to.
func (w *worker) place(kind, name string) state.Pointer {
	return state.At(state.CallsKey, w.task.call.ID, "__steps", kind, name)
}

// recall reads what is recorded at a place, and reports whether anything is.
func (w *worker) recall(at state.Pointer, into any) (known bool, err error) {
	var doc state.Document
	if !w.ask(func() { doc = w.x.doc }) {
		return false, errCallOver
	}
	v, known := doc.Get(at)
	if !known {
		return false, nil
	}
	return true, v.Decode(into)
}

// record puts a value at a place, with a patch besides, in a change of its own.
func (w *worker) record(at state.Pointer, value any, besides state.Patch) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode %s: %w", at, err)
	}
	if len(data) > maxResultBytes {
		return fmt.Errorf("a result of %d bytes exceeds %d: keep it elsewhere and return where: %w", len(data), maxResultBytes, selvage.ErrTooLarge)
	}
	v, err := state.ParseValue(data)
	if err != nil {
		return fmt.Errorf("encode %s: %w", at, err)
	}
	if !w.ask(func() { err = w.commit(append(besides, state.Set(at, v))) }) {
		return errCallOver
	}
	return err
}

// takeSignal takes the oldest signal of a name for the call, in the goroutine
// of the run. Nil is none.
func (w *worker) takeSignal(name string) (json.RawMessage, error) {
	id, payload, ok := firstSignal(w.x.doc, name)
	if !ok {
		return nil, nil
	}
	v, err := state.ParseValue(payload)
	if err != nil {
		return nil, err
	}
	return payload, w.commit(state.Patch{state.Delete(signalsAt(name).Join(id)), state.Set(w.place("got", name), v)})
}
