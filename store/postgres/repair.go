package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
)

// Repair implements [selvage.Repairer]. A thread is locked while it is looked
// at, and its log is held in memory.
func (s *Store) Repair(ctx context.Context, req selvage.RepairRequest) (report selvage.RepairReport, err error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return report, fmt.Errorf("repair: %w", err)
	}
	defer leave()
	for key, err := range s.logged(ctx, req.Thread) {
		if err != nil {
			return report, err
		}
		done, err := s.repairOne(ctx, key, req.DryRun)
		if err != nil {
			return report, err
		}
		report.Count(done)
		if req.Told != nil {
			req.Told(*done)
		}
	}
	if req.Thread != "" && report.Threads == 0 {
		return report, fmt.Errorf("repair: thread %q: %w", req.Thread, selvage.ErrNotFound)
	}
	return report, nil
}

// loggedQuery goes from thread to thread, those whose head is missing included.
const loggedQuery = `SELECT tenant, thread FROM (
		SELECT tenant, thread FROM selvage.threads WHERE version > 0 UNION SELECT tenant, thread FROM selvage.changes) k
	WHERE (tenant, thread) > ($1::text, $2::bytea) ORDER BY tenant, thread LIMIT $3::bigint`

// logged goes through the threads that have, or should have, a log.
func (s *Store) logged(ctx context.Context, only selvage.ThreadID) func(yield func(threadKey, error) bool) {
	return func(yield func(threadKey, error) bool) {
		if only != "" {
			exists := false
			err := s.retry(ctx, "repair", func(ctx context.Context) error {
				return s.pool.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM selvage.threads WHERE tenant = $1::text AND thread = $2::bytea AND version > 0)
					OR EXISTS (SELECT 1 FROM selvage.changes WHERE tenant = $1::text AND thread = $2::bytea)`, s.tenant, packID(string(only))).Scan(&exists)
			})
			if err != nil || exists {
				yield(threadKey{s.tenant, only}, err)
			}
			return
		}
		tenant, thread := "", []byte{}
		for {
			var keys []threadKey
			err := s.retry(ctx, "repair", func(ctx context.Context) error {
				keys = nil
				rows, err := s.pool.Query(ctx, loggedQuery, tenant, thread, int64(selvage.MaxPage))
				if err != nil {
					return err
				}
				_, err = pgx.ForEachRow(rows, []any{&tenant, &thread}, func() error {
					keys = append(keys, threadKey{tenant, selvage.ThreadID(unpackID(thread))})
					return nil
				})
				return err
			})
			if err != nil {
				yield(threadKey{}, err)
				return
			}
			for _, key := range keys {
				if !yield(key, nil) {
					return
				}
			}
			if len(keys) < selvage.MaxPage {
				return
			}
		}
	}
}

// repairOne repairs one thread.
func (s *Store) repairOne(ctx context.Context, key threadKey, dry bool) (*selvage.RepairedThread, error) {
	r := &rebuild{store: &Store{base: s.base, tenant: key.tenant, cursors: s.cursors}, key: key, thread: packID(string(key.id)), dry: dry}
	pass, err := s.gates.enter(ctx, key)
	if err != nil {
		return nil, err
	}
	defer pass()
	defer s.heads.drop(key)
	err = s.retry(ctx, "repair", func(ctx context.Context) error {
		err := r.store.serialised(ctx, func(tx pgx.Tx) error { return r.run(ctx, tx) })
		if errors.Is(err, errDry) {
			return nil
		}
		return err
	})
	if errors.Is(err, selvage.ErrCorrupt) {
		r.done.Lost, err = err, nil
	}
	return &r.done, err
}
