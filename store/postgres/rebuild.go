package postgres

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
)

// rebuild makes the rows of one thread anew from its log.
type rebuild struct {
	store  *Store
	key    threadKey
	thread []byte
	dry    bool
	done   selvage.RepairedThread
}

// run does so in a transaction, and leaves what it made if that is other than
// what was there.
func (r *rebuild) run(ctx context.Context, tx pgx.Tx) error {
	r.done = selvage.RepairedThread{Tenant: r.key.tenant, ID: r.key.id}
	// Whoever writes waits for the head.
	if _, err := tx.Exec(ctx, `INSERT INTO selvage.threads (tenant, thread, hash) VALUES ($1::text, $2::bytea, decode(repeat('00', 32), 'hex')) ON CONFLICT DO NOTHING`,
		r.key.tenant, r.thread); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `SELECT 1 FROM selvage.threads WHERE tenant = $1::text AND thread = $2::bytea FOR UPDATE`, r.key.tenant, r.thread); err != nil {
		return err
	}
	log, err := r.read(ctx, tx)
	if err != nil {
		return err
	}
	if len(log) == 0 {
		return &selvage.CorruptError{Thread: r.key.id, Version: 1, Reason: "the whole log is missing"}
	}
	r.done.Version = log[len(log)-1].Version
	before, err := r.views(ctx, tx)
	if err != nil {
		return err
	}
	tentative, err := tx.Begin(ctx)
	if err != nil {
		return err
	}
	if err := r.retake(ctx, tentative, log); err != nil {
		return err
	}
	after, err := r.views(ctx, tentative)
	if err != nil {
		return err
	}
	for i, q := range viewQueries {
		if before[i] != after[i] {
			r.done.Changed = append(r.done.Changed, q.name)
		}
	}
	if r.dry || len(r.done.Changed) == 0 {
		return errDry
	}
	return tentative.Commit(ctx)
}

// errDry ends a transaction of which nothing is to stay.
var errDry = errors.New("nothing is to stay")

// read reads the log and proves that its changes follow each other.
func (r *rebuild) read(ctx context.Context, tx pgx.Tx) (log []selvage.Change, err error) {
	rows, err := tx.Query(ctx, `SELECT `+changeColumns+`, c.prev FROM selvage.changes c
		WHERE c.tenant = $1::text AND c.thread = $2::bytea ORDER BY c.version`, r.key.tenant, r.thread)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var row changeRow
		var prev []byte
		if err := rows.Scan(append(row.targets(), &prev)...); err != nil {
			return nil, err
		}
		c, err := row.change(r.key.id)
		if err != nil {
			return nil, err
		}
		switch n := len(log); {
		case n == 0 && c.Reason == selvage.ReasonDeleted:
			copy(c.Prev[:], prev)
		case n == 0 && c.Version != 1, n > 0 && c.Version != log[n-1].Version+1:
			return nil, &selvage.CorruptError{Thread: r.key.id, Version: c.Version - 1, Reason: "it is missing from the log"}
		case n > 0:
			c.Prev = log[n-1].Hash
		}
		log = append(log, c)
	}
	return log, rows.Err()
}

// retake deletes what there is of the thread but its lease and its deliveries,
// and takes the log in again, in the place in the feed that it has.
func (r *rebuild) retake(ctx context.Context, tx pgx.Tx, log []selvage.Change) error {
	var epoch int64
	if err := tx.QueryRow(ctx, `SELECT epoch FROM selvage.threads WHERE tenant = $1::text AND thread = $2::bytea`, r.key.tenant, r.thread).Scan(&epoch); err != nil {
		return err
	}
	if err := r.execAll(ctx, tx, stripQueries[:]); err != nil {
		return err
	}
	i := &intake{store: r.store, key: r.key}
	for part := range slices.Chunk(log, importChanges) {
		if err := i.takeAll(ctx, tx, part); err != nil {
			return err
		}
	}
	if err := r.execAll(ctx, tx, placeQueries[:]); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE selvage.threads SET epoch = $3::bigint WHERE tenant = $1::text AND thread = $2::bytea`, r.key.tenant, r.thread, epoch)
	return err
}

func (r *rebuild) execAll(ctx context.Context, tx pgx.Tx, queries []string) error {
	for _, sql := range queries {
		if strings.Contains(sql, "$1") {
			if _, err := tx.Exec(ctx, sql, r.key.tenant, r.thread); err != nil {
				return err
			}
		} else if _, err := tx.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// stripQueries remember the places of the changes and delete the rows that are
// made of the log.
var stripQueries = [...]string{
	`CREATE TEMPORARY TABLE IF NOT EXISTS selvage_places (version bigint PRIMARY KEY, ord bigint NOT NULL) ON COMMIT DROP`,
	`DELETE FROM selvage_places`,
	`INSERT INTO selvage_places SELECT version, ord FROM selvage.changes WHERE tenant = $1::text AND thread = $2::bytea`,
	`DELETE FROM selvage.changes WHERE tenant = $1::text AND thread = $2::bytea`,
	`DELETE FROM selvage.message_ids WHERE tenant = $1::text AND thread = $2::bytea`,
	`DELETE FROM selvage.runs WHERE tenant = $1::text AND thread = $2::bytea`,
	`DELETE FROM selvage.calls WHERE tenant = $1::text AND thread = $2::bytea`,
	`DELETE FROM selvage.blob_refs WHERE tenant = $1::text AND thread = $2::bytea`,
	`DELETE FROM selvage.state_cache WHERE tenant = $1::text AND thread = $2::bytea`,
	`UPDATE selvage.threads SET version = 0, ord = 0, next_seq = 1, state_version = 0, updated_at = 0, born = 0, created_at = 0, tombstone = 0,
		first_seq = 1, horizon = 0, expires_at = NULL, deleted = false, hash = decode(repeat('00', 32), 'hex'), open_run = NULL, run = NULL, calls = NULL,
		parent = NULL, user_id = NULL, info = NULL, rewinds = NULL WHERE tenant = $1::text AND thread = $2::bytea`,
}

// placeQueries give the changes their places again, and what is ordered by
// them.
var placeQueries = [...]string{
	`UPDATE selvage.changes c SET ord = p.ord FROM selvage_places p WHERE c.tenant = $1::text AND c.thread = $2::bytea AND c.version = p.version`,
	`UPDATE selvage.runs r SET born = p.ord FROM selvage_places p WHERE r.tenant = $1::text AND r.thread = $2::bytea AND r.version = p.version`,
	`UPDATE selvage.threads t SET ord = (SELECT max(ord) FROM selvage_places),
		born = CASE WHEN t.deleted THEN 0 ELSE coalesce((SELECT p.ord FROM selvage_places p WHERE p.version = t.tombstone + 1), 0) END
		WHERE t.tenant = $1::text AND t.thread = $2::bytea`,
}

// viewQueries select the rows of each view as one text. What a tombstone still
// knows of the life before it is not in the log.
var viewQueries = [...]struct{ name, sql string }{
	{"head", `SELECT coalesce(string_agg(ROW(version, ord, next_seq, state_version, updated_at, born, CASE WHEN NOT deleted THEN ROW(created_at, tombstone, first_seq)::text END, horizon, expires_at,
		deleted, hash, open_run, run, calls, parent, user_id, info, rewinds)::text, ''), '') FROM selvage.threads WHERE tenant = $1::text AND thread = $2::bytea`},
	{"runs", `SELECT coalesce(string_agg(ROW(born, version, created_at, item, open, id, agent, parent, spec, data)::text, E'\n' ORDER BY id), '')
		FROM selvage.runs WHERE tenant = $1::text AND thread = $2::bytea`},
	{"calls", `SELECT coalesce(string_agg(ROW(id, data)::text, E'\n' ORDER BY id), '') FROM selvage.calls WHERE tenant = $1::text AND thread = $2::bytea`},
	{"links", `SELECT coalesce(string_agg(ROW(version, ord, effect)::text, E'\n' ORDER BY version), '') FROM selvage.changes
		WHERE tenant = $1::text AND thread = $2::bytea`},
	{"ids", `SELECT coalesce(string_agg(encode(id, 'hex'), ' ' ORDER BY id), '') FROM selvage.message_ids WHERE tenant = $1::text AND thread = $2::bytea`},
}

// views reads them.
func (r *rebuild) views(ctx context.Context, tx pgx.Tx) (texts [len(viewQueries)]string, err error) {
	for i, q := range viewQueries {
		if err := tx.QueryRow(ctx, q.sql, r.key.tenant, r.thread).Scan(&texts[i]); err != nil {
			return texts, err
		}
	}
	return texts, nil
}
