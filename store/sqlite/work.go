package sqlite

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/selvagehq/selvage"
)

// A run has a row from its creation on, and the row is written again when it
// is done. In between the head of its thread holds how it stands.
const (
	upsertRun = `INSERT INTO runs (key, tenant, id, thread, agent, parent, created_at, open, spec, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (tenant, id) DO UPDATE SET open = excluded.open, data = excluded.data`

	runColumns = `r.key, r.thread, r.open, r.spec, r.data, t.run`
	selectRun  = `SELECT ` + runColumns + ` FROM runs r JOIN threads t ON t.key = r.thread WHERE r.tenant = ? AND r.id = ?`

	upsertCall = `INSERT INTO calls (thread, id, data) VALUES (?, ?, ?) ON CONFLICT (thread, id) DO UPDATE SET data = excluded.data`
	selectCall = `SELECT data FROM calls WHERE thread = ? AND id = ?`
)

// runsPerChange bounds the runs of one change, so that their keys, which are
// the order of creation, can be made of its position.
const runsPerChange = 1 << 20

// writeRun writes the row of a run, if it was created or is done.
func (t *txn) writeRun(h *entry, run *selvage.Run, pos int64, i int) error {
	created := run.CreatedAt.Equal(h.Thread.UpdatedAt)
	if !created && run.Status.Open() {
		return nil
	}
	if i >= runsPerChange {
		return fmt.Errorf("%d runs in one change: %w", i, selvage.ErrTooLarge)
	}
	spec, err := packJSON(run.Spec, run.Spec == nil)
	if err != nil {
		return err
	}
	data, err := packRun(run)
	if err != nil {
		return err
	}
	open := int64(0)
	if run.Status.Open() {
		open = 1
	}
	_, err = t.exec(upsertRun, pos*runsPerChange+int64(i), h.Thread.Tenant, string(run.ID), h.key, run.AgentID, string(run.ParentRunID),
		run.CreatedAt.UnixMilli(), open, spec, data)
	return err
}

// scanRun reads the columns runColumns: the run as it stands now.
func scanRun(r *rows) (*selvage.Run, error) {
	run := &selvage.Run{}
	if err := r.json(4, run); err != nil {
		return nil, fmt.Errorf("a run cannot be read (%v): %w", err, selvage.ErrCorrupt)
	}
	if r.int(2) != 0 && !r.null(5) {
		var now selvage.Run
		if err := r.json(5, &now); err != nil {
			return nil, fmt.Errorf("run %q cannot be read (%v): %w", run.ID, err, selvage.ErrCorrupt)
		}
		if now.ID == run.ID {
			run = &now
		}
	}
	if err := r.json(3, &run.Spec); err != nil {
		return nil, fmt.Errorf("the spec of run %q cannot be read (%v): %w", run.ID, err, selvage.ErrCorrupt)
	}
	return run, nil
}

// readRun returns a run of the tenant, or nil.
func readRun(c *conn, tenant string, id selvage.RunID) (run *selvage.Run, err error) {
	var bad error
	_, err = c.one(func(r *rows) { run, bad = scanRun(r) }, selectRun, tenant, string(id))
	if err = errors.Join(err, bad); err != nil {
		return nil, err
	}
	return run, nil
}

// writeCall writes the row of a tool call that has ended.
func (t *txn) writeCall(h *entry, call *selvage.Call) error {
	if !call.Status.Terminal() {
		return nil
	}
	data, err := packJSON(call, false)
	if err != nil {
		return err
	}
	_, err = t.exec(upsertCall, h.key, call.ID, data)
	return err
}

// readCall returns a tool call of a thread that has ended, or nil.
func readCall(c *conn, thread int64, id string) (*selvage.Call, error) {
	var data string
	found, err := c.one(func(r *rows) { data = r.text(0) }, selectCall, thread, id)
	if err != nil || !found {
		return nil, err
	}
	call := &selvage.Call{}
	if err := json.Unmarshal([]byte(data), call); err != nil {
		return nil, fmt.Errorf("call %q cannot be read (%v): %w", id, err, selvage.ErrCorrupt)
	}
	return call, nil
}
