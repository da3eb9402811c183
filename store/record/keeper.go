package record

import (
	"context"
	"errors"
	"fmt"

	"github.com/selvagehq/selvage"
)

// Keeper offers the capabilities that an engine's rows make possible, for the
// tenant of the engine. It is safe for concurrent use; a store has one for each
// of its handles.
type Keeper struct {
	engine  Engine
	cursors *selvage.CursorKey
	tenant  string

	ids ids
}

// New returns the keeper of a tenant's rows. Cursors seals the places in its
// lists.
func New(engine Engine, cursors *selvage.CursorKey, tenant string) *Keeper {
	return &Keeper{engine: engine, cursors: cursors, tenant: tenant}
}

// Capability sets *target if it is one of the capabilities kept here, and
// reports whether it did; see [selvage.As].
func (k *Keeper) Capability(target any) bool {
	switch t := target.(type) {
	case *selvage.Memory:
		*t = memory{k}
	case *selvage.Config:
		*t = config{k}
	case *selvage.Publications:
		*t = publications{k}
	case *selvage.Audit:
		*t = audit{k}
	case *selvage.StreamCheckpoints:
		*t = streams{k}
	case *selvage.Replay:
		*t = replay{k}
	case *selvage.Sweeper:
		*t = sweeper{k}
	default:
		return false
	}
	return true
}

// tries is how often an update is made again whose outcome was not learned.
const tries = 3

// update is Engine.Update, made again while its outcome is not known: write
// finds its own traces, and again tells it that there may be some. If it finds
// none the outcome stays unknown, because others may have covered them.
func (k *Keeper) update(ctx context.Context, topic string, write func(tx Tx, again bool) error) error {
	var unknown error
	for n := 0; ; n++ {
		again := n > 0
		err := k.engine.Update(ctx, topic, func(tx Tx) error { return write(tx, again) })
		switch {
		case err == nil:
			return nil
		case errors.Is(err, selvage.ErrUnknownOutcome):
			unknown = err
		case unknown != nil:
			return fmt.Errorf("%w (looked for: %v)", unknown, err)
		default:
			return err
		}
		if ctx.Err() != nil || n == tries {
			return unknown
		}
	}
}
