package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/commit"
)

var (
	_ commit.Reader = hopeful{}
	_ commit.Reader = (*lookup)(nil)
)

// hopeful answers a judgement from memory. Of what only the database knows it
// hopes the best: unique keys object if it is otherwise.
type hopeful struct{ head *head }

func (r hopeful) State() (state.Document, error) {
	if r.head.doc == nil {
		return state.Document{}, errCold
	}
	return *r.head.doc, nil
}

func (r hopeful) At(selvage.Version) (commit.Past, error) { return commit.Past{}, errCold }

func (r hopeful) KnownMessages(ids []string) ([]bool, error) { return make([]bool, len(ids)), nil }
func (r hopeful) Run(selvage.RunID) (*selvage.Run, error)    { return nil, nil }
func (r hopeful) Call(string) (*selvage.Call, error)         { return nil, nil }
func (r hopeful) Blobs(ids []selvage.Hash) ([]bool, error) {
	known := make([]bool, len(ids))
	for i := range known {
		known[i] = true
	}
	return known, nil
}
func (r hopeful) Delivery([]byte) ([]byte, error) { return nil, nil }
func (r hopeful) Parent(selvage.ThreadID) (selvage.ThreadID, bool, error) {
	return "", false, errCold
}

// lookup answers a judgement from the database.
type lookup struct {
	ctx    context.Context // of the judgement, which ends before the call that made it
	store  *Store
	from   querier
	thread []byte
	head   *head
}

func (r *lookup) State() (state.Document, error) {
	if r.head.doc == nil {
		if err := r.store.readState(r.ctx, r.from, r.head); err != nil {
			return state.Document{}, err
		}
	}
	return *r.head.doc, nil
}

func (r *lookup) At(v selvage.Version) (commit.Past, error) {
	v, err := r.head.at(v)
	if err != nil {
		return commit.Past{}, err
	}
	f, err := r.store.fold(r.ctx, r.from, r.head, int64(v))
	if err != nil {
		return commit.Past{}, err
	}
	next, err := r.store.nextSeq(r.ctx, r.from, r.head, v)
	return commit.Past{State: f.doc, NextSeq: next}, err
}

func (r *lookup) KnownMessages(ids []string) ([]bool, error) {
	keys := make([][]byte, len(ids))
	at := make(map[string][]int, len(ids))
	for i, id := range ids {
		keys[i] = messageKey(id)
		at[string(keys[i])] = append(at[string(keys[i])], i)
	}
	rows, err := r.from.Query(r.ctx, `SELECT id FROM selvage.message_ids WHERE tenant = $1::text AND thread = $2::bytea AND id = ANY($3::bytea[])`,
		r.store.tenant, r.thread, keys)
	if err != nil {
		return nil, err
	}
	known := make([]bool, len(ids))
	var key []byte
	_, err = pgx.ForEachRow(rows, []any{&key}, func() error {
		for _, i := range at[string(key)] {
			known[i] = true
		}
		return nil
	})
	return known, err
}

func (r *lookup) Run(id selvage.RunID) (*selvage.Run, error) {
	var data, spec []byte
	err := r.from.QueryRow(r.ctx, `SELECT data, spec FROM selvage.runs WHERE tenant = $1::text AND id = $2::bytea`,
		r.store.tenant, packID(string(id))).Scan(&data, &spec)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return decodeRun(data, spec)
}

func (r *lookup) Call(id string) (*selvage.Call, error) {
	var data []byte
	err := r.from.QueryRow(r.ctx, `SELECT data FROM selvage.calls WHERE tenant = $1::text AND thread = $2::bytea AND id = $3::bytea`,
		r.store.tenant, r.thread, packID(id)).Scan(&data)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	call := &selvage.Call{}
	return call, decodeJSON("a tool call", data, call)
}

func (r *lookup) Parent(id selvage.ThreadID) (selvage.ThreadID, bool, error) {
	var parent []byte
	err := r.from.QueryRow(r.ctx, `SELECT parent FROM selvage.threads WHERE tenant = $1::text AND thread = $2::bytea AND version > 0 AND NOT deleted`,
		r.store.tenant, packID(string(id))).Scan(&parent)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", false, nil
	}
	return selvage.ThreadID(unpackID(parent)), true, err
}

// decodeRun reads a run whose spec was kept apart.
func decodeRun(data, spec []byte) (*selvage.Run, error) {
	run := &selvage.Run{}
	if err := decodeJSON("a run", data, run); err != nil {
		return nil, err
	}
	if spec == nil {
		return run, nil
	}
	run.Spec = &selvage.RunSpec{}
	return run, decodeJSON(fmt.Sprintf("the spec of run %q", run.ID), spec, run.Spec)
}

func (r *lookup) Blobs(ids []selvage.Hash) ([]bool, error) {
	known := make([]bool, len(ids))
	rows, err := r.from.Query(r.ctx, `SELECT id FROM selvage.blobs WHERE tenant = $1::text AND id = ANY($2::bytea[])`, r.store.tenant, hashSlices(ids))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id []byte
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		for i := range ids {
			known[i] = known[i] || bytes.Equal(ids[i][:], id)
		}
	}
	return known, rows.Err()
}

func (r *lookup) Delivery(key []byte) ([]byte, error) {
	var digest []byte
	err := r.from.QueryRow(r.ctx, `SELECT digest FROM selvage.outbox WHERE tenant = $1::text AND dedupe = $2::bytea`,
		r.store.tenant, key).Scan(&digest)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return digest, err
}

// readHead reads the head of a thread, which need not exist, and the version
// that a change set made of it, 0 if none.
func (s *Store) readHead(ctx context.Context, q querier, id selvage.ThreadID, changeSet string) (*head, int64, error) {
	var row headRow
	var version *int64
	err := q.QueryRow(ctx, `SELECT `+headColumns+`, i.version
		FROM (SELECT $1::text AS tenant, $2::bytea AS thread, $3::bytea AS id) k
		LEFT JOIN selvage.threads t ON t.tenant = k.tenant AND t.thread = k.thread
		LEFT JOIN selvage.changes i ON i.tenant = k.tenant AND i.thread = k.thread AND i.id = k.id`,
		s.tenant, packID(string(id)), packID(changeSet)).Scan(append(row.targets(), &version)...)
	if err != nil {
		return nil, 0, err
	}
	h, err := row.head(s.tenant, id)
	if err != nil || version == nil {
		return h, 0, err
	}
	return h, *version, nil
}
