package record

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/selvagehq/selvage"
)

// Keeper offers the capabilities that an engine's rows make possible, for the
// tenant of the engine. It is safe for concurrent use; a store has one for each
// of its handles.
type Keeper struct {
	engine  Engine
	cursors *selvage.CursorKey
	tenant  string

	mu   sync.Mutex // guards last
	last [16]byte   // the id made last
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
// finds its own traces. Again tells it that there may be some.
func (k *Keeper) update(ctx context.Context, topic string, write func(tx Tx, again bool) error) error {
	for n := 0; ; n++ {
		again := n > 0
		err := k.engine.Update(ctx, topic, func(tx Tx) error { return write(tx, again) })
		if !errors.Is(err, selvage.ErrUnknownOutcome) || ctx.Err() != nil || n == tries {
			return err
		}
	}
}

// stored is a time as it is kept.
func stored(at time.Time) time.Time { return at.UTC().Truncate(selvage.TimePrecision) }

// checkExpiry returns an expiry as it is kept. The error matches
// [selvage.ErrInvalid].
func checkExpiry(at *time.Time, now time.Time) (*time.Time, error) {
	if at == nil {
		return nil, nil
	}
	kept := stored(*at)
	if !kept.After(now) {
		return nil, invalid("expires_at", "%v is over; leave it out for what never expires", kept)
	}
	return &kept, nil
}

// expires is the expiry of a row.
func expires(at *time.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	return *at
}
