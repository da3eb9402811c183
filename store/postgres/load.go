package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// Load implements [selvage.Store]. It is one round trip.
func (s *Store) Load(ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error) {
	h, err := s.load(ctx, id, opts)
	if err != nil {
		return selvage.Head{}, fmt.Errorf("load thread %q: %w", id, err)
	}
	return h, nil
}

func (s *Store) load(ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return selvage.Head{}, err
	}
	defer leave()
	l := &loader{store: s, id: id, window: selvage.DefaultWindow}
	if opts.Messages != nil {
		if l.window = int64(*opts.Messages); l.window < 0 {
			return selvage.Head{}, &selvage.InvalidError{Field: "messages", Reason: "the number of messages may not be negative"}
		}
	}
	if err := s.retry(ctx, "load", l.read); err != nil {
		return selvage.Head{}, err
	}
	if l.whole && !l.complete {
		// Many changes without messages lie among the last ones. The log does
		// not change, so what the head speaks of is there still; if not,
		// somebody has deleted the thread, and all is read again.
		if err := s.retry(ctx, "load", l.readWindow); err != nil && !errors.Is(err, selvage.ErrCorrupt) {
			return selvage.Head{}, err
		}
	}
	if !l.complete {
		if err := s.snapshot(ctx, "load", func(tx pgx.Tx) error { return l.readSlowly(ctx, tx) }); err != nil {
			return selvage.Head{}, err
		}
	}
	key := threadKey{s.tenant, id}
	s.heads.put(key, s.keep.consider(key, l.head))
	return l.result(), nil
}

// loader reads what Load answers.
type loader struct {
	store  *Store
	id     selvage.ThreadID
	window int64

	head     *head
	spec     []byte
	lease    leaseRow
	messages []selvage.Message
	whole    bool // the state is there
	complete bool // the messages too
}

const (
	beginSnapshot = "begin isolation level repeatable read read only"

	// byIndex keeps the plan of a load from depending on when it was made: one
	// made while the tables were small goes through all of them, and would stay
	// in use until their statistics change.
	byIndex = "set local enable_seqscan = off"

	loadHead = `SELECT ` + headColumns + `, ` + leaseColumns + `, r.spec
		FROM selvage.threads t LEFT JOIN selvage.runs r ON r.tenant = t.tenant AND r.id = t.open_run
		WHERE t.tenant = $1::text AND t.thread = $2::bytea`

	loadCache = `SELECT k.version, k.digest, k.doc FROM selvage.state_cache k
		WHERE k.tenant = $1::text AND k.thread = $2::bytea
			AND k.version > (SELECT t.tombstone FROM selvage.threads t WHERE t.tenant = $1::text AND t.thread = $2::bytea)
		ORDER BY k.version DESC LIMIT 1`

	// loadTail selects what was appended to the state after the newest
	// document that was kept.
	loadTail = `SELECT ` + changeColumns + ` FROM selvage.threads t JOIN selvage.changes c ON c.tenant = t.tenant AND c.thread = t.thread
		WHERE t.tenant = $1::text AND t.thread = $2::bytea AND c.version <= t.state_version AND c.effect > 0
			AND c.version > greatest(t.tombstone, (SELECT max(k.version) FROM selvage.state_cache k WHERE k.tenant = $1::text AND k.thread = $2::bytea))
		ORDER BY c.version`

	// loadWindow selects, among the last changes, those that hold the last messages.
	loadWindow = `SELECT ` + changeColumns + ` FROM (
			SELECT * FROM selvage.changes l WHERE l.tenant = $1::text AND l.thread = $2::bytea ORDER BY l.version DESC LIMIT $3::bigint) c
		WHERE c.added > 0 AND c.first_seq + c.added > (
			SELECT t.next_seq - $4::bigint FROM selvage.threads t WHERE t.tenant = $1::text AND t.thread = $2::bytea)
		ORDER BY c.version`
)

// windowSlack is how many changes without messages may stand between the last
// messages without a second round trip.
const windowSlack = 64

// read reads everything at one point and in one round trip.
func (l *loader) read(ctx context.Context) error {
	tenant, thread := l.store.tenant, packID(string(l.id))
	var b pgx.Batch
	b.Queue(beginSnapshot)
	b.Queue(byIndex)
	b.Queue(loadHead, tenant, thread)
	b.Queue(loadCache, tenant, thread)
	b.Queue(loadTail, tenant, thread)
	if l.window > 0 {
		b.Queue(loadWindow, tenant, thread, min(l.window, math.MaxInt32)+windowSlack, l.window)
	}
	b.Queue("commit")
	results := l.store.pool.SendBatch(ctx, &b)
	err := l.scan(results)
	if closed := results.Close(); err == nil {
		err = closed
	}
	return err
}

// scan reads the answers.
func (l *loader) scan(results pgx.BatchResults) error {
	for range 2 { // the transaction, and how it plans
		if _, err := results.Exec(); err != nil {
			return err
		}
	}
	if err := l.scanHead(results.QueryRow()); err != nil {
		return err
	}
	var err error
	if l.whole, err = l.scanState(results); err != nil {
		return err
	}
	l.complete = l.whole
	if l.window == 0 {
		return nil
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	if l.messages, err = scanMessages(l.id, rows); err != nil {
		return err
	}
	l.complete = l.whole && l.trim()
	return nil
}

// readWindow reads the messages alone.
func (l *loader) readWindow(ctx context.Context) (err error) {
	if l.messages, err = l.store.said(ctx, l.store.pool, l.head, l.wanted()); err == nil {
		l.complete = l.trim()
	}
	return err
}

func (l *loader) scanHead(row pgx.Row) error {
	var r headRow
	l.lease = leaseRow{}
	err := row.Scan(append(append(r.targets(), l.lease.targets()...), &l.spec)...)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	if l.head, err = r.head(l.store.tenant, l.id); err != nil {
		return err
	}
	if err := l.head.missing(l.id); err != nil {
		return err
	}
	return l.head.known(l.head.Thread.Version)
}

// scanState reads the state document, unless what was kept of it is damaged.
func (l *loader) scanState(results pgx.BatchResults) (whole bool, err error) {
	var f folded
	var digest, data []byte
	switch err := results.QueryRow().Scan(&f.from, &digest, &data); {
	case errors.Is(err, pgx.ErrNoRows):
		whole = true
	case err != nil:
		return false, err
	default:
		whole = l.store.openCached(&f, l.id, digest, data)
	}
	// What leads up to a rewind is not what it goes back to.
	whole = whole && f.from >= l.head.turned()
	rows, err := results.Query()
	if err != nil {
		return false, err
	}
	if !whole {
		rows.Close()
		return false, rows.Err()
	}
	if err := f.applyAll(l.id, rows); err != nil {
		return false, err
	}
	l.head.setState(f)
	return true, nil
}

// wanted is where the messages of the window are.
func (l *loader) wanted() []commit.Segment {
	return commit.Window(l.head.Visible(l.head.firstSeq), l.window)
}

// trim cuts the messages to the window and reports whether they fill it.
func (l *loader) trim() bool {
	var missing int64
	var kept []selvage.Message
	for _, s := range l.wanted() {
		missing += s.Last - s.First + 1
		for _, m := range l.messages {
			if s.First <= m.Seq && m.Seq <= s.Last {
				kept = append(kept, m)
			}
		}
	}
	l.messages = kept
	return int64(len(kept)) == missing
}

// readSlowly reads everything, step by step, at the one point that tx sees.
func (l *loader) readSlowly(ctx context.Context, tx pgx.Tx) error {
	s, thread := l.store, packID(string(l.id))
	if err := l.scanHead(tx.QueryRow(ctx, loadHead, s.tenant, thread)); err != nil {
		return err
	}
	if err := s.readState(ctx, tx, l.head); err != nil {
		return err
	}
	if l.window == 0 {
		return nil
	}
	var err error
	if l.messages, err = s.said(ctx, tx, l.head, l.wanted()); err != nil {
		return err
	}
	if !l.trim() {
		return damaged(l.id, int64(l.head.Thread.Version), "messages before seq %d are missing", l.head.NextSeq)
	}
	return nil
}

// result is what Load answers, which shares nothing with what is remembered.
func (l *loader) result() selvage.Head {
	h := selvage.Head{Thread: cloneThread(l.head.Thread), Hash: l.head.Hash, State: *l.head.doc, NextSeq: l.head.NextSeq,
		Messages: l.messages, OpenCalls: append([]selvage.Call(nil), l.head.OpenCalls...)}
	if h.Messages == nil {
		h.Messages = []selvage.Message{}
	}
	if l.head.OpenRun != nil {
		run := cloneRun(*l.head.OpenRun)
		h.OpenRun = &run
		if l.spec != nil {
			h.OpenRun.Spec = &selvage.RunSpec{}
			_ = decodeJSON("spec", l.spec, h.OpenRun.Spec)
		}
	}
	h.Lease = l.lease.current(l.id)
	return h
}

// scanMessages reads the messages that changes added.
func scanMessages(id selvage.ThreadID, rows pgx.Rows) ([]selvage.Message, error) {
	defer rows.Close()
	var all []selvage.Message
	for rows.Next() {
		var row changeRow
		if err := rows.Scan(row.targets()...); err != nil {
			return nil, err
		}
		c, err := row.change(id)
		if err != nil {
			return nil, err
		}
		added, err := c.AddedMessages()
		if err != nil {
			return nil, err
		}
		all = append(all, added...)
	}
	return all, rows.Err()
}

// versionOf returns the version that added the message with a seq, which must
// be one of this life's. It halves the log, so it costs little at any length.
func (s *Store) versionOf(ctx context.Context, q querier, h *head, seq int64) (int64, error) {
	var v int64
	err := q.QueryRow(ctx, `WITH RECURSIVE b(lo, hi) AS (
			SELECT $3::bigint, $4::bigint
			UNION ALL
			SELECT CASE WHEN c.first_seq <= $5::bigint THEN c.version ELSE b.lo END, CASE WHEN c.first_seq <= $5::bigint THEN b.hi ELSE c.version - 1 END
			FROM b JOIN selvage.changes c ON c.tenant = $1::text AND c.thread = $2::bytea AND c.version = (b.lo + b.hi + 1) / 2
			WHERE b.lo < b.hi)
		SELECT lo FROM b WHERE lo >= hi`, s.tenant, packID(string(h.Thread.ID)), h.tombstone+1, int64(h.Thread.Version), seq).Scan(&v)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, damaged(h.Thread.ID, int64(h.Thread.Version), "there is a gap in the log before it")
	}
	return v, err
}

// leaseColumns are what a leaseRow scans, in its order.
const leaseColumns = `t.epoch, t.lease_owner, t.lease_took, t.lease_until, t.lease_until > clock_timestamp()`

// leaseRow is the lease of a row of threads as it is scanned.
type leaseRow struct {
	epoch       *int64
	owner, took []byte
	until       *time.Time
	held        *bool
}

func (r *leaseRow) targets() []any { return []any{&r.epoch, &r.owner, &r.took, &r.until, &r.held} }
