package runner

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cenkalti/backoff/v5"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
)

// infer asks the model until it answers, or has failed in a way that will not
// pass. What failed attempts used is booked too.
func (x *run) infer(ctx context.Context, offer []selvage.ToolSpec) (*model.Response, error) {
	req := model.Request{System: x.spec.System, Messages: window(x.messages(), x.keep), Tools: offer,
		MaxOutputTokens: x.r.opts.MaxOutputTokens}
	retry := x.r.opts.Retry
	wait := &backoff.ExponentialBackOff{InitialInterval: retry.Initial, MaxInterval: retry.Max, Multiplier: 2, RandomizationFactor: 0.2}
	wait.Reset()
	for {
		response, err := x.attempt(ctx, req)
		x.usage = x.usage.Add(response.Usage)
		x.cost += x.r.price.Cost(response.Usage)
		if err == nil {
			return &response, nil
		}
		if cause := ended(ctx); cause != nil {
			return nil, cause
		}
		pause, again := x.pause(err, req.Attempt+1, wait.NextBackOff())
		if !again {
			return nil, err
		}
		x.log.DebugContext(ctx, "model asked again", "run", x.id, "attempt", req.Attempt+1, "wait", pause, "err", err)
		e := x.event(EventRetry)
		e.Note = err.Error()
		x.out.emit(e)
		if sleep(ctx, pause) != nil {
			return nil, ended(ctx)
		}
		req.Attempt++
	}
}

// pause returns how long to wait before the request is sent again, and whether
// it is to be.
func (x *run) pause(err error, attempts int, wait time.Duration) (time.Duration, bool) {
	retry := x.r.opts.Retry
	if !model.ClassOf(err).Retryable() || attempts >= retry.Attempts {
		return 0, false
	}
	var provider *model.Error
	if errors.As(err, &provider) && provider.RetryAfter > wait {
		wait = provider.RetryAfter
	}
	return wait, wait <= retry.MaxRetryAfter
}

// attempt asks the model once and tells its deltas. The response is what
// arrived, also with an error.
func (x *run) attempt(ctx context.Context, req model.Request) (answer model.Response, err error) {
	ctx, over := x.observe(ctx, Activity{Kind: ActivityModel, Model: x.r.opts.Model.Name(), Attempt: req.Attempt})
	defer func() {
		over(Ended{Err: err, Usage: answer.Usage, Cost: x.r.price.Cost(answer.Usage), Finish: string(answer.Finish)})
	}()
	id := selvage.NewID()
	var arrived model.Accumulator
	var failed error
	finished, output := false, false
	for chunk, err := range x.r.opts.Model.Stream(ctx, req) {
		if err != nil {
			failed = err
			break
		}
		arrived.Add(chunk)
		x.delta(id, chunk)
		finished = finished || chunk.Finish != ""
		output = output || chunk.Text != "" || chunk.Reasoning != "" || chunk.ToolCall != nil
		if ctx.Err() != nil && !finished {
			failed = ended(ctx)
			break
		}
	}
	if failed == nil && !finished {
		failed = model.Broken(output, errors.New("the answer ended without saying so"))
	}
	response := arrived.Response()
	response.Message.ID = id
	for i := range response.Message.ToolCalls {
		storable(&response.Message.ToolCalls[i])
	}
	return response, failed
}

// storable gives a call an id of ours and makes it one that can be recorded,
// whatever the model made up, so that the model can be told.
func storable(c *selvage.ToolCall) {
	c.ID = newCallID(c.ID)
	if c.Name = strings.ToValidUTF8(c.Name, "\uFFFD"); c.Name == "" {
		c.Name = "unnamed"
	}
	if len(c.Arguments) > 0 && !(json.Valid(c.Arguments) && utf8.Valid(c.Arguments)) {
		c.Arguments, _ = json.Marshal(string(c.Arguments)) // a string always has JSON
	}
}

// delta tells what an answer goes on with.
func (x *run) delta(messageID string, chunk model.Chunk) {
	if chunk.Text == "" && chunk.Reasoning == "" {
		return
	}
	e := x.event(EventDelta)
	if chunk.Reasoning != "" {
		e.Kind = EventReasoning
	}
	e.MessageID, e.Text, e.Note = messageID, chunk.Text, chunk.Reasoning
	x.out.emit(e)
}

// callIDPrefix is how much of a provider's id is kept: with it an id has no more
// than the 40 bytes that every provider takes.
const callIDPrefix = 19

// newCallID names a call. Providers name calls too, but only within what they
// were shown; the journal and the services that are given idempotency keys
// need names that never come back. The provider's own name is still recognised
// by its beginning.
func newCallID(given string) string {
	var b [10]byte
	_, _ = rand.Read(b[:]) // never fails
	prefix := "call"
	if given != "" && !strings.ContainsFunc(given, foreignToIDs) {
		prefix = given[:min(len(given), callIDPrefix)]
	}
	return prefix + "_" + hex.EncodeToString(b[:])
}

// foreignToIDs reports whether some provider would not take a character in the
// id of a call.
func foreignToIDs(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
}
