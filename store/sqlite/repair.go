package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/selvagehq/selvage"
)

// Repair implements [selvage.Repairer]. The table of changes is gone through
// once; a thread is written to only if something of it is wrong.
func (s *Store) Repair(ctx context.Context, req selvage.RepairRequest) (report selvage.RepairReport, err error) {
	r := &repair{store: s, req: req, report: &report}
	if err := r.run(ctx); err != nil {
		return report, fmt.Errorf("repair database %s: %w", s.path, err)
	}
	return report, nil
}

// repair is one call of Repair.
type repair struct {
	store  *Store
	req    selvage.RepairRequest
	report *selvage.RepairReport
	end    int64           // position up to which the logs were listed
	ids    map[int64]int64 // how many ids each thread has
}

// logged is a thread and where its log is.
type logged struct {
	key    int64
	tenant string
	id     selvage.ThreadID
	places []int64 // of its changes, by version
}

func (r *repair) run(ctx context.Context) error {
	threads, err := r.list(ctx)
	if err != nil {
		return err
	}
	if len(threads) == 0 && r.req.Thread != "" {
		return fmt.Errorf("thread %q: %w", r.req.Thread, selvage.ErrNotFound)
	}
	for i := range threads {
		if err := ctx.Err(); err != nil {
			return err
		}
		done, err := r.one(ctx, &threads[i])
		if err != nil {
			return err
		}
		r.report.Count(done)
		if r.req.Told != nil {
			r.req.Told(*done)
		}
	}
	return nil
}

// list finds the logs without trusting what links them.
func (r *repair) list(ctx context.Context) (threads []logged, err error) {
	err = r.store.read(ctx, func(c *conn) error {
		threads, r.ids, r.report.Orphans = nil, make(map[int64]int64), 0
		if _, err := c.one(func(row *rows) { r.end = row.int(0) }, `SELECT coalesce(max(pos), 0) FROM changes`); err != nil {
			return err
		}
		known := make(map[int64]int)
		err := each(c, func(row *rows) {
			t := logged{key: row.int(0), tenant: row.text(1), id: selvage.ThreadID(row.text(2))}
			if r.req.Thread != "" && (t.id != r.req.Thread || t.tenant != r.store.tenant) {
				known[t.key] = -1
				return
			}
			known[t.key] = len(threads)
			threads = append(threads, t)
		}, `SELECT key, tenant, id FROM threads WHERE version > 0 OR EXISTS (SELECT 1 FROM changes WHERE changes.pos = threads.pos)`)
		if err != nil {
			return err
		}
		err = each(c, func(row *rows) { r.ids[row.int(0)] = row.int(1) }, `SELECT thread, count(*) FROM ids GROUP BY thread`)
		if err != nil {
			return err
		}
		return each(c, func(row *rows) {
			i, ok := known[row.int(0)]
			switch {
			case !ok:
				r.report.Orphans++
			case i >= 0:
				threads[i].places = append(threads[i].places, row.int(1))
			}
		}, `SELECT thread, pos FROM changes ORDER BY thread, version`)
	})
	return threads, err
}

// each calls f for every row.
func each(c *conn, f func(*rows), query string, args ...any) error {
	r, err := c.query(query, driverValues(args)...)
	if err != nil {
		return err
	}
	for r.next() {
		f(r)
	}
	return r.close()
}

// one repairs one thread.
func (r *repair) one(ctx context.Context, l *logged) (*selvage.RepairedThread, error) {
	done := &selvage.RepairedThread{Tenant: l.tenant, ID: l.id}
	if err := r.store.enter(ctx); err != nil {
		return nil, err
	}
	defer r.store.leave()
	err := r.store.writer.do(ctx, l.tenant, 0, func(t *txn) error {
		done.Changed, done.Lost = nil, nil
		return t.rebuild(r, l, done)
	})
	if errors.Is(err, selvage.ErrCorrupt) {
		done.Lost, err = err, nil
	}
	return done, err
}
