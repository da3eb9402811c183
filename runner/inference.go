package runner

import (
	"context"
	"errors"
	"strings"

	"github.com/cenkalti/backoff/v5"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
)

// maxLonger is how often an answer is gone on with that the provider's token
// limit cut off.
const maxLonger = 3

// errEmpty is an answer that neither says nor calls anything.
var errEmpty = &model.Error{Class: model.Transient, Err: errors.New("the model gave an empty answer")}

// inquiry is the way to one answer of the model: what is asked, of whom, and
// what has come back.
type inquiry struct {
	x      *run
	req    model.Request
	answer *answer
	scribe *scribe
	at     int   // in the run's chain
	tries  int   // of the model there that failed
	longer int   // how often a cut off answer was gone on with
	anew   bool  // nobody goes on with a beginning here
	broke  error // the run cannot go on, whatever the model says
	wait   *backoff.ExponentialBackOff
}

// infer asks the model until it answers, or has failed in a way that will not
// pass. What failed attempts used is booked too. An answer that is broken off
// leaves a stream checkpoint.
func (x *run) infer(ctx context.Context, offer []selvage.ToolSpec) (*model.Response, error) {
	retry := x.r.opts.Retry
	messages, sent := x.compose()
	x.context.sent = sent
	q := &inquiry{x: x, at: x.first, answer: &answer{id: selvage.NewID()},
		req: model.Request{System: x.spec.System, Messages: messages, Tools: offer,
			MaxOutputTokens: x.spec.MaxOutputTokens},
		wait: &backoff.ExponentialBackOff{InitialInterval: retry.Initial, MaxInterval: retry.Max, Multiplier: 2, RandomizationFactor: 0.2}}
	q.wait.Reset()
	q.answer.frame = selvage.StreamCheckpoint{ThreadID: x.thread, RunID: x.id, Epoch: x.fence.Epoch, Step: x.step,
		RunUsage: x.usage, RunCost: x.cost}
	q.scribe = x.newScribe(ctx, q.answer.draft)
	defer q.scribe.stop()
	q.takeUp()
	response, err := q.pursue(ctx)
	if q.scribe.stop() || err != nil {
		x.left(x.id)
	}
	if err != nil {
		x.leave(ctx, q.answer)
	}
	return response, err
}

// takeUp begins with what another process had of the answer.
func (q *inquiry) takeUp() {
	c := q.x.partial
	if q.x.partial = nil; c == nil {
		return
	}
	q.answer.take(c)
	q.req.Prefix, q.req.Attempt = c.Text, c.Attempt+1
	q.tell(EventContinue, "the process that received its beginning is no more")
	q.delta(model.Chunk{Text: c.Text})
}

// pursue makes attempts until there is an answer.
func (q *inquiry) pursue(ctx context.Context) (*model.Response, error) {
	for {
		finish, err := q.attempt(ctx)
		if err == nil && finish == model.FinishLength && q.mayGoOn() && q.longer < maxLonger {
			q.longer++
			q.tries = 0
			q.wait.Reset()
			q.goOn("the model's token limit cut it off")
			continue
		}
		if err == nil {
			return q.complete(finish), nil
		}
		if cause := q.halted(ctx); cause != nil {
			return nil, cause
		}
		r, err := q.judge(ctx, err)
		if err != nil {
			return nil, err
		}
		next := q.way(r.cause, r.result)
		switch {
		case next == giveUp && q.longer > 0 && !q.answer.silent():
			// What there is of it is an answer, if not a whole one.
			return q.complete(model.FinishLength), nil
		case next == giveUp:
			return nil, r.cause
		}
		pause := q.take(next, r)
		q.repeat(ctx, r.cause, pause)
		q.pause(ctx, pause)
		if cause := q.halted(ctx); cause != nil {
			return nil, cause
		}
	}
}

// halted is why the run cannot go on.
func (q *inquiry) halted(ctx context.Context) error {
	if cause := ended(ctx); cause != nil {
		return cause
	}
	return q.broke
}

// attempt asks the model once, tells its deltas, and books what it used.
func (q *inquiry) attempt(ctx context.Context) (finish model.Finish, failed error) {
	a, by := q.answer, &q.x.chain[q.at]
	inside, over := q.x.observe(ctx, Activity{Kind: ActivityModel, Model: by.model.Name(), Attempt: q.req.Attempt})
	a.begin(by, &q.req)
	q.broke = q.receive(ctx, inside, by.model, func(chunk model.Chunk, err error) bool {
		if failed = err; err != nil {
			return false
		}
		text := a.add(chunk)
		q.scribe.note(sizeOf(text, &chunk))
		q.delta(model.Chunk{Text: text, Reasoning: chunk.Reasoning})
		if chunk.Finish != "" {
			finish = chunk.Finish
		}
		if ctx.Err() != nil && finish == "" {
			failed = ended(ctx)
		}
		return failed == nil
	})
	if q.broke != nil {
		failed = q.broke
	}
	if failed == nil && finish == "" {
		failed = model.Broken(a.output, errors.New("the answer ended without saying so"))
	}
	if failed == nil && finish != model.FinishLength {
		q.delta(model.Chunk{Text: a.end()})
	}
	if failed == nil && finish != model.FinishLength && finish != model.FinishContentFilter && a.silent() {
		failed = errEmpty
	}
	usage, cost := a.book(failed != nil && failed != errEmpty)
	q.x.usage, q.x.cost = q.x.usage.Add(usage), q.x.cost+cost
	if failed == nil && q.req.Prefix == "" {
		q.x.calibrate(usage.InputTokens)
	}
	over(Ended{Err: failed, Usage: usage, Cost: cost, Finish: string(finish)})
	return finish, failed
}

// sizeOf is how much of an answer came with a chunk, of which text is to be
// told.
func sizeOf(text string, chunk *model.Chunk) int {
	n := len(text) + len(chunk.Reasoning)
	if p := chunk.Writing; p != nil {
		n += len(p.Name) + len(p.Arguments)
	}
	return n
}

// complete is the answer that was pursued.
func (q *inquiry) complete(finish model.Finish) *model.Response {
	if finish == model.FinishLength {
		q.answer.again = repetition{} // a repetition that was cut off too
	}
	q.delta(model.Chunk{Text: q.answer.end()})
	response := q.answer.arrived.Response()
	response.Finish, response.Message.ID = finish, q.answer.id
	calls := response.Message.ToolCalls
	for i := range calls {
		storable(&calls[i])
	}
	if n := len(calls); finish == model.FinishLength && n > 0 && halfWritten(&calls[n-1]) {
		calls[n-1].Arguments = unwritten(calls[n-1].Arguments)
	}
	if by := q.x.chain[q.at].model.Name(); by != q.x.spec.Model {
		mark(&response.Message, MetadataModel, by)
	}
	return &response
}

// silent reports whether an answer says nothing and calls nothing.
func (a *answer) silent() bool {
	return len(a.calls) == 0 && strings.TrimSpace(a.text.String()) == ""
}

// tell tells what becomes of the answer.
func (q *inquiry) tell(kind selvage.EventKind, note string) {
	e := q.x.event(kind)
	e.MessageID, e.Note = q.answer.id, note
	q.x.out.emit(e)
}

// delta tells what the answer goes on with.
func (q *inquiry) delta(chunk model.Chunk) {
	if chunk.Text == "" && chunk.Reasoning == "" {
		return
	}
	e := q.x.event(EventDelta)
	if chunk.Reasoning != "" {
		e.Kind = EventReasoning
	}
	e.MessageID, e.Text, e.Note = q.answer.id, chunk.Text, chunk.Reasoning
	q.x.out.emit(e)
}
