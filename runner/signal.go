package runner

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/selvagehq/selvage"
)

// maxRequestBytes bounds a decision and the payload of a signal, in bytes of
// JSON.
const maxRequestBytes = 1 << 20

// Signal sends a signal to an open run: durably, and also if no call waits for
// one of that name yet. Each call that waits for the name takes one signal, the
// oldest first. The payload is any JSON; none is null.
//
// The run goes on with it where it is led; a run that waits goes on with the
// next [Runner.Resume] or [Runner.Recover]. The error is a [DoneError] if the
// run is done, and matches [selvage.ErrNotFound] if there is none.
func Signal(ctx context.Context, store selvage.Store, id selvage.RunID, name string, payload json.RawMessage) error {
	if err := selvage.CheckID("signal", name); err != nil {
		return err
	}
	if len(payload) == 0 {
		payload = json.RawMessage("null")
	}
	switch {
	case !json.Valid(payload):
		return &selvage.InvalidError{Field: "payload", Reason: "it is not JSON"}
	case len(payload) > maxRequestBytes:
		return fmt.Errorf("a payload of %d bytes exceeds %d: %w", len(payload), maxRequestBytes, selvage.ErrTooLarge)
	}
	o, err := find(ctx, store, id)
	if err != nil {
		return err
	}
	patches, err := request(signalsAt(name).Join(selvage.NewID()), payload)
	if err != nil {
		return &selvage.InvalidError{Field: "payload", Reason: err.Error()}
	}
	return o.amend(ctx, func(context.Context) (*selvage.ChangeSet, error) {
		return &selvage.ChangeSet{Patches: patches}, nil
	})
}
