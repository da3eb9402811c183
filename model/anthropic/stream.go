package anthropic

import (
	"context"
	"errors"
	"iter"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/internal/service"
)

// Stream sends req and yields the answer as it arrives. Usage comes at the
// beginning too, so that an answer that breaks off has a cost. Tool calls come
// at the end; those of a broken stream are dropped. An answer that was finished
// when its connection broke counts as complete.
func (m *Model) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		err := m.attempt(ctx, req, func(c model.Chunk) bool { return yield(c, nil) })
		if err != nil {
			yield(model.Chunk{}, err)
		}
	}
}

// attempt gives the chunks of one answer to give until it is complete, give
// refuses one, or something fails.
func (m *Model) attempt(ctx context.Context, req model.Request, give func(model.Chunk) bool) error {
	if ctx.Err() != nil {
		return model.Ended(ctx)
	}
	params, tail, err := m.params(req)
	if err != nil {
		return &model.Error{Class: model.Permanent, Err: err}
	}
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := service.NewWatch(m.options.IdleTimeout, func() { cancel(service.ErrSilent) })
	defer w.Rest()

	w.Arm()
	stream := m.service.NewStreaming(inner, params, option.WithMiddleware(w.Follow))
	w.Rest()
	a := answer{give: give, rest: service.NewContinuation(req.Prefix, tail), taken: service.CallIDs(req.Messages)}
	for err = stream.Err(); err == nil && stream.Next(); {
		event := stream.Current()
		if !a.take(&event) {
			// Nothing was lost that anybody still wants.
			_ = stream.Close()
			return nil
		}
		if a.whole() {
			w.Complete()
		}
		if event.Type == "message_stop" {
			break
		}
	}
	if err == nil {
		err = stream.Err()
	}
	_ = closed(w)
	if held := a.rest.End(); held != "" && !a.say(held) {
		return nil
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return model.Ended(ctx)
	case a.whole():
		return a.end()
	case err != nil && errors.Is(context.Cause(inner), service.ErrSilent):
		return model.Broken(a.output, w.Silence())
	default:
		return m.failure(w, err, a.output)
	}
}

// closed lets go of the connection, which the SDK's stream does not do by itself
// at its end.
func closed(w *service.Watch) error {
	if w.Response == nil || w.Response.Body == nil || service.Refused(w.Response) {
		return nil
	}
	return w.Response.Body.Close()
}

// failure classifies what ended an attempt before its answer was finished.
func (m *Model) failure(w *service.Watch, err error, output bool) error {
	f := service.Failures{
		Key:      m.options.APIKey,
		NoStream: "the server did not answer with an event stream; is the base URL the one of the messages API, such as " + officialURL + "?",
	}
	var told *anthropic.Error
	switch {
	case service.Refused(w.Response):
		// The SDK has read the body and put it back.
		return f.Refusal(w.Response)
	case errors.As(err, &told):
		return f.Frame([]byte(told.RawJSON()), output)
	default:
		return f.Broken(w.Response, err, output)
	}
}
