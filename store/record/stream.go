package record

import (
	"context"
	"fmt"
	"time"

	"github.com/selvagehq/selvage"
)

// streamSpace holds stream checkpoints by thread and run.
const streamSpace = "stream"

// streams is the [selvage.StreamCheckpoints] of a keeper.
type streams struct{ k *Keeper }

func streamKey(thread selvage.ThreadID, run selvage.RunID) []byte {
	return keyOf(string(thread), string(run))
}

func streamTopic(thread selvage.ThreadID, run selvage.RunID) string {
	return streamSpace + "/" + string(thread) + "/" + string(run)
}

func checkStream(thread selvage.ThreadID, run selvage.RunID) error {
	if err := checkName("thread_id", string(thread)); err != nil {
		return err
	}
	return checkName("run_id", string(run))
}

// Put implements [selvage.StreamCheckpoints].
func (s streams) Put(ctx context.Context, c selvage.StreamCheckpoint) error {
	if err := s.put(ctx, c); err != nil {
		return fmt.Errorf("put the stream checkpoint of run %q: %w", c.RunID, err)
	}
	return nil
}

func (s streams) put(ctx context.Context, c selvage.StreamCheckpoint) error {
	if err := checkCheckpoint(&c); err != nil {
		return err
	}
	key := streamKey(c.ThreadID, c.RunID)
	return s.k.update(ctx, streamTopic(c.ThreadID, c.RunID), func(tx Tx, _ bool) (err error) {
		if c.ExpiresAt, err = checkExpiry(c.ExpiresAt, tx.Now()); err != nil {
			return err
		}
		var have selvage.StreamCheckpoint
		if _, _, err := load(tx, streamSpace, key, &have); err != nil {
			return err
		}
		if have.Epoch > c.Epoch {
			return &selvage.FencedError{Thread: c.ThreadID, Held: c.Epoch, Actual: have.Epoch}
		}
		c.UpdatedAt = tx.Now()
		row, err := pack(Row{Key: key, Thread: c.ThreadID, Expires: expires(c.ExpiresAt)}, &c)
		if err != nil {
			return err
		}
		if len(row.Value) > selvage.MaxStreamCheckpointBytes {
			return tooLarge("the checkpoint", len(row.Value), selvage.MaxStreamCheckpointBytes)
		}
		return tx.Put(streamSpace, row)
	})
}

func checkCheckpoint(c *selvage.StreamCheckpoint) error {
	if err := checkStream(c.ThreadID, c.RunID); err != nil {
		return err
	}
	for i, call := range c.Calls {
		field := fmt.Sprintf("calls[%d]", i)
		if err := checkText(field, call.ID, call.Name); err != nil {
			return err
		}
		if len(call.Arguments) == 0 {
			continue
		}
		if err := checkValue(field+".arguments", call.Arguments, selvage.MaxStreamCheckpointBytes); err != nil {
			return err
		}
	}
	if f := c.InFlight; f != nil {
		if err := checkText("in_flight", f.ID, f.Name, f.Arguments); err != nil {
			return err
		}
	}
	return checkText("text", c.Model, c.Text, c.Reasoning)
}

// Get implements [selvage.StreamCheckpoints].
func (s streams) Get(ctx context.Context, thread selvage.ThreadID, run selvage.RunID) (c selvage.StreamCheckpoint, err error) {
	if err = checkStream(thread, run); err == nil {
		err = s.k.engine.View(ctx, func(tx Tx) error {
			c = selvage.StreamCheckpoint{}
			_, exists, err := load(tx, streamSpace, streamKey(thread, run), &c)
			if err == nil && !exists {
				err = fmt.Errorf("there is none: %w", selvage.ErrNotFound)
			}
			return err
		})
	}
	if err != nil {
		return selvage.StreamCheckpoint{}, fmt.Errorf("get the stream checkpoint of run %q: %w", run, err)
	}
	return c, nil
}

// Delete implements [selvage.StreamCheckpoints].
func (s streams) Delete(ctx context.Context, thread selvage.ThreadID, run selvage.RunID) error {
	err := checkStream(thread, run)
	if err == nil {
		err = s.k.update(ctx, streamTopic(thread, run), func(tx Tx, _ bool) error {
			_, err := tx.Delete(streamSpace, One(streamKey(thread, run)))
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("delete the stream checkpoint of run %q: %w", run, err)
	}
	return nil
}

// later returns the later of two expiries, nil being never.
func later(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.Before(*a) {
		return a
	}
	return b
}
