package sqlite

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// head is the row of a thread: what a judgement needs, and where its log is.
type head struct {
	commit.Head
	key          int64 // 0: there is no row
	pos          int64 // of the last change
	born         int64 // position of the change that created it; 0: it cannot be read
	statePos     int64 // of the last change of the state
	stateVersion selvage.Version
	messagePos   int64 // of the last change that added messages
	lease        lease // as it was read; the cache does not keep it up
}

const headColumns = `key, id, version, pos, next_seq, hash, updated_at, state_pos, state_version, epoch, deleted,
	latest_run, run, calls, born, created_at, parent, user, title, metadata, forked_from, expires_at, tenant, lease_owner, lease_until, message_pos, rewinds, horizon`

const (
	selectHead = `SELECT ` + headColumns + ` FROM threads WHERE tenant = ? AND id = ?`
	headByKey  = `SELECT ` + headColumns + ` FROM threads WHERE key = ?`

	insertHead = `INSERT INTO threads (tenant, id, ` + headValues + `) VALUES (?, ?, ?` + marks22 + `)`
	updateHead = `UPDATE threads SET version = ?, pos = ?, next_seq = ?, hash = ?, updated_at = ?, state_pos = ?, state_version = ?,
		message_pos = ?` + guard
	updateWork = `UPDATE threads SET version = ?, pos = ?, next_seq = ?, hash = ?, updated_at = ?, state_pos = ?, state_version = ?,
		message_pos = ?, latest_run = ?, run = ?, calls = ?` + guard
	updateAll = `UPDATE threads SET (` + headValues + `) = (?` + marks22 + `)` + guard

	// guard admits a change only after the one it was judged against.
	guard = ` WHERE key = ? AND version = ? AND epoch = ?`

	headValues = `version, pos, next_seq, hash, updated_at, state_pos, state_version, message_pos, latest_run, run, calls,
		epoch, deleted, born, created_at, parent, user, title, metadata, forked_from, expires_at, rewinds, horizon`
	marks22 = `, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?`
)

// values are the arguments of headValues, in its order.
func (h *head) values() ([]driver.Value, error) {
	args := append(make([]driver.Value, 0, 24), int64(h.Thread.Version), h.pos, h.NextSeq, h.Hash[:],
		h.Thread.UpdatedAt.UnixMilli(), h.statePos, int64(h.stateVersion), h.messagePos)
	args, err := h.work(args)
	if err != nil {
		return nil, err
	}
	t := &h.Thread
	metadata, err := packJSON(t.Metadata, len(t.Metadata) == 0)
	if err != nil {
		return nil, err
	}
	forked, err := packJSON(t.ForkedFrom, t.ForkedFrom == nil)
	if err != nil {
		return nil, err
	}
	deleted := int64(0)
	if h.Deleted {
		deleted = 1
	}
	return append(args, h.Epoch, deleted, packInt(h.born), t.CreatedAt.UnixMilli(), string(t.ParentID), t.UserID, t.Title,
		metadata, forked, packTime(t.ExpiresAt), packBytes(commit.PackRewinds(h.Rewinds)), int64(h.Horizon)), nil
}

// work appends what the thread is about: its runs and open calls.
func (h *head) work(args []driver.Value) ([]driver.Value, error) {
	run, err := packRun(h.OpenRun)
	if err != nil {
		return nil, err
	}
	calls, err := packJSON(h.OpenCalls, len(h.OpenCalls) == 0)
	if err != nil {
		return nil, err
	}
	return append(args, packText(string(h.Thread.LatestRunID)), run, calls), nil
}

// readHead reads the head of a thread of the tenant; one without a row has no
// key.
func readHead(c *conn, tenant string, id selvage.ThreadID) (h head, err error) {
	var bad error
	found, err := c.one(func(r *rows) { h, bad = scanHead(r) }, selectHead, tenant, string(id))
	if err = errors.Join(err, bad); err != nil {
		return head{}, err
	}
	if !found {
		h.Thread.ID, h.Thread.Tenant = id, tenant
	}
	return h, nil
}

// scanHead reads the columns headColumns. The spec of the open run is left
// out, because it stands with the run.
func scanHead(r *rows) (head, error) {
	h := head{key: r.int(0), pos: r.int(3), statePos: r.int(7), stateVersion: selvage.Version(r.int(8)), born: r.int(14),
		messagePos: r.int(25)}
	h.lease = lease{owner: r.text(23), until: r.time(24)}
	h.NextSeq, h.Epoch, h.Deleted, h.Horizon = r.int(4), r.int(9), r.int(10) != 0, selvage.Version(r.int(27))
	copy(h.Hash[:], r.blob(5))
	t := &h.Thread
	t.ID, t.Version, t.Tenant = selvage.ThreadID(r.text(1)), selvage.Version(r.int(2)), r.text(22)
	t.UpdatedAt, t.CreatedAt, t.ExpiresAt = r.time(6), r.time(15), r.time(21)
	t.LatestRunID, t.ParentID = selvage.RunID(r.text(11)), selvage.ThreadID(r.text(16))
	t.UserID, t.Title = r.text(17), r.text(18)
	var jumps error
	h.Rewinds, jumps = commit.UnpackRewinds(r.blob(26))
	err := errors.Join(jumps, r.json(12, &h.OpenRun), r.json(13, &h.OpenCalls), r.json(19, &t.Metadata), r.json(20, &t.ForkedFrom))
	if err != nil {
		return h, corrupt(t.ID, t.Version, "its head cannot be read (%v)", err)
	}
	if run := h.OpenRun; run != nil {
		t.OpenRunID = run.ID
		if run.Status == selvage.RunRunning {
			t.ActiveRunID = run.ID
		}
	}
	return h, nil
}

// readable returns nil if the thread can be read.
func (h *head) readable() error {
	switch t := &h.Thread; {
	case h.Deleted:
		return fmt.Errorf("thread %q was deleted at version %d: %w", t.ID, t.Version, selvage.ErrNotFound)
	case !h.Exists():
		return fmt.Errorf("thread %q: %w", t.ID, selvage.ErrNotFound)
	default:
		return nil
	}
}

// detach makes the head independent of the change set that led to it, which
// its caller may go on using.
func (h *head) detach() {
	if h.OpenRun == nil {
		return
	}
	run := *h.OpenRun
	run.Spec = nil
	if run.Waiting != nil {
		waiting := *run.Waiting
		waiting.Tickets = slices.Clone(waiting.Tickets)
		if waiting.Until != nil {
			until := *waiting.Until
			waiting.Until = &until
		}
		run.Waiting = &waiting
	}
	if run.Limits != nil {
		limits := run.Limits.Clone()
		run.Limits = &limits
	}
	h.OpenRun = &run
}

// The forms of columns.

func packText(s string) driver.Value {
	if s == "" {
		return nil
	}
	return s
}

func packBytes(b []byte) driver.Value {
	if b == nil {
		return nil
	}
	return b
}

func packInt(n int64) driver.Value {
	if n == 0 {
		return nil
	}
	return n
}

func packTime(t time.Time) driver.Value {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// packRun encodes a run without its spec, which never changes and has a column
// of its own.
func packRun(run *selvage.Run) (driver.Value, error) {
	if run == nil {
		return nil, nil
	}
	bare := *run
	bare.Spec = nil
	return packJSON(&bare, false)
}

// packJSON encodes v as it is, without escapes for HTML.
func packJSON(v any, empty bool) (driver.Value, error) {
	if empty {
		return nil, nil
	}
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return string(bytes.TrimSuffix(buf.Bytes(), []byte("\n"))), nil
}

// time returns a time; NULL is the zero time.
func (r *rows) time(i int) time.Time {
	if r.null(i) {
		return time.Time{}
	}
	return time.UnixMilli(r.int(i)).UTC()
}

// json decodes a column; NULL leaves v alone.
func (r *rows) json(i int, v any) error {
	if r.null(i) {
		return nil
	}
	return json.Unmarshal([]byte(r.text(i)), v)
}
