package selvage

import (
	"context"
	"time"
)

// StreamCheckpoints keep how far an answer of the model had come, so that the
// next attempt after a crash goes on from there or discards it. What they hold
// is never a message. There is at most one for a run. They are found with [As].
type StreamCheckpoints interface {
	// Put writes the checkpoint of a run, in place of the one before. One that
	// an older epoch sends after a newer one is a [FencedError]; a thread that
	// does not exist matches [ErrNotFound]; a checkpoint above
	// [MaxStreamCheckpointBytes] [ErrTooLarge]. Sending the same again is
	// harmless, also after [ErrUnknownOutcome].
	Put(ctx context.Context, c StreamCheckpoint) error

	// Get returns the checkpoint of a run, or an error matching [ErrNotFound].
	Get(ctx context.Context, thread ThreadID, run RunID) (StreamCheckpoint, error)

	// Delete removes the checkpoint of a run. It is no error if there is none.
	// Deleting a thread deletes its checkpoints.
	Delete(ctx context.Context, thread ThreadID, run RunID) error
}

// MaxStreamCheckpointBytes bounds the encoded size of a stream checkpoint, in
// bytes.
const MaxStreamCheckpointBytes = 1 << 20

// StreamCheckpoint is an interrupted answer.
type StreamCheckpoint struct {
	ThreadID  ThreadID   `json:"thread_id"`
	RunID     RunID      `json:"run_id"`
	Epoch     int64      `json:"epoch,omitempty"` // of the lease under which it was written
	Step      int        `json:"step,omitempty"`  // the turn, from 1
	Attempt   int        `json:"attempt,omitempty"`
	Model     string     `json:"model,omitempty"`
	Text      string     `json:"text,omitempty"` // as far as it came
	Reasoning string     `json:"reasoning,omitempty"`
	Calls     []ToolCall `json:"calls,omitempty"` // the tool calls that are complete
	// InFlight is the call whose arguments had not all come.
	InFlight *PartialCall `json:"in_flight,omitempty"`
	// Usage and Cost are what the turn has used so far, in all of its attempts;
	// estimated where the provider had not said it yet.
	Usage Usage `json:"usage,omitzero"`
	Cost  Money `json:"cost,omitzero"`
	// RunUsage and RunCost are what the whole run has, this turn included. They
	// are what a run has that goes on from here, unless it has recorded more.
	RunUsage Usage `json:"run_usage,omitzero"`
	RunCost  Money `json:"run_cost,omitzero"`
	// UpdatedAt is the store's to assign.
	UpdatedAt time.Time `json:"updated_at,omitzero"`
	// ExpiresAt is when the checkpoint is of no use any more; nil means never.
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// PartialCall is a tool call that was cut off. Arguments is the beginning of a
// JSON object, not JSON yet.
type PartialCall struct {
	ID        string `json:"id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
}
