package sim

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
)

// echo is the one simulated model there is.
const echo = "echo"

// Model is the simulation. It holds no state and is safe for concurrent use.
type Model struct {
	name  string
	price model.Price
}

var (
	_ model.Model  = (*Model)(nil)
	_ model.Pricer = (*Model)(nil)
)

// New returns the simulation of the given name, the part after "sim/". There is
// one, "echo". The error for any other matches [selvage.ErrInvalid].
func New(name string) (*Model, error) {
	if name != echo {
		return nil, &selvage.InvalidError{Field: "model", Reason: fmt.Sprintf("there is no model sim/%s; use sim/%s", name, echo)}
	}
	return &Model{name: "sim/" + name, price: model.Price{Input: selvage.Dollar, Output: 2 * selvage.Dollar}}, nil
}

// WithPrice returns the same simulation at another price.
func (m *Model) WithPrice(p model.Price) *Model {
	return &Model{name: m.name, price: p}
}

// Name returns "sim/echo".
func (m *Model) Name() string { return m.name }

// Price returns what the simulation charges; it is always known.
func (m *Model) Price() (model.Price, bool) { return m.price, true }

// Stream answers as the package comment says, word by word. It waits only for
// stream and sleep, and stops waiting when ctx ends.
func (m *Model) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		a := reply(req)
		if err := play(ctx, &a, func(c model.Chunk) bool { return yield(c, nil) }); err != nil {
			yield(model.Chunk{}, err)
		}
	}
}

// play gives the chunks of a to give until it is done, give refuses one, or ctx
// ends. It returns the error to end with: nil also after a refusal.
func play(ctx context.Context, a *answer, give func(model.Chunk) bool) error {
	if err := wait(ctx, a.delay); err != nil {
		return err
	}
	if a.fail != "" && a.fail != model.Cut {
		return a.failure()
	}
	for i, word := range a.words {
		if i > 0 {
			if err := wait(ctx, a.pace); err != nil {
				return err
			}
		}
		if !give(model.Chunk{Text: word}) {
			return nil
		}
	}
	for i := range a.calls {
		if err := wait(ctx, 0); err != nil {
			return err
		}
		if !give(model.Chunk{ToolCall: &a.calls[i]}) {
			return nil
		}
	}
	if !give(model.Chunk{Usage: &a.usage}) {
		return nil
	}
	if a.fail == model.Cut {
		return a.failure()
	}
	give(model.Chunk{Finish: a.finish})
	return nil
}

// wait returns after d, or with an error as soon as ctx has ended.
func wait(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return model.Ended(ctx)
	}
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return model.Ended(ctx)
	case <-timer.C:
		return nil
	}
}
