package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// The bounds of what one transaction takes in.
const (
	importChanges = 200
	importBytes   = 1 << 20
)

// Import implements [selvage.Importer]. Changes are committed in groups.
func (s *Store) Import(ctx context.Context, id selvage.ThreadID, changes []selvage.Change) (selvage.Version, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return 0, fmt.Errorf("import into thread %q: %w", id, err)
	}
	defer leave()
	i := &intake{store: s, key: threadKey{s.tenant, id}}
	err = commit.CheckImport(id, changes)
	for err == nil && len(changes) > 0 {
		n := groupOf(changes)
		err = i.takeGroup(ctx, changes[:n])
		changes = changes[n:]
	}
	if err != nil {
		err = fmt.Errorf("import into thread %q: %w", id, err)
	}
	return i.reached(ctx, err)
}

// groupOf is how many changes, at least one, are committed together.
func groupOf(changes []selvage.Change) (n int) {
	for size := 0; n < len(changes) && n < importChanges; n++ {
		body := selvage.Body{Messages: changes[n].Messages, Rest: changes[n].Rest}
		if size += body.Size(); n > 0 && size > importBytes {
			break
		}
	}
	return n
}

// intake takes the log of one thread in.
type intake struct {
	store *Store
	key   threadKey
}

// reached returns the version the thread is at, and the error given.
func (i *intake) reached(ctx context.Context, err error) (selvage.Version, error) {
	var v int64
	readErr := i.store.retry(context.WithoutCancel(ctx), "import", func(ctx context.Context) error {
		err := i.store.pool.QueryRow(ctx, `SELECT version FROM selvage.threads WHERE tenant = $1::text AND thread = $2::bytea`,
			i.key.tenant, packID(string(i.key.id))).Scan(&v)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	if err == nil {
		err = readErr
	}
	return selvage.Version(v), err
}

// takeGroup commits changes together. What was committed and not answered is
// found to be there when it is tried again.
func (i *intake) takeGroup(ctx context.Context, changes []selvage.Change) error {
	pass, err := i.store.gates.enter(ctx, i.key)
	if err != nil {
		return err
	}
	defer pass()
	defer i.store.heads.drop(i.key)
	begin := func(do func(pgx.Tx) error) error { return pgx.BeginFunc(ctx, i.store.pool, do) }
	if movesParent(changes) {
		begin = func(do func(pgx.Tx) error) error { return i.store.serialised(ctx, do) }
	}
	for n := range attempts {
		if n > retries {
			if err := pause(ctx, n); err != nil {
				return err
			}
		}
		err = i.store.retry(ctx, "import", func(ctx context.Context) error {
			return begin(func(tx pgx.Tx) error { return i.takeAll(ctx, tx, changes) })
		})
		if err == nil {
			i.store.watch.committed(i.key)
		}
		if !errors.Is(err, errAgain) {
			return err
		}
	}
	return fmt.Errorf("other writers were faster %d times: %w", attempts, selvage.ErrUnavailable)
}

// movesParent reports whether one of the changes may give the thread a parent.
func movesParent(changes []selvage.Change) bool {
	for i := range changes {
		if bytes.Contains(changes[i].Rest, []byte(`"parent_id"`)) {
			return true
		}
	}
	return false
}

func (i *intake) takeAll(ctx context.Context, tx pgx.Tx, changes []selvage.Change) error {
	h, _, err := i.store.readHead(ctx, tx, i.key.id, "")
	if err != nil {
		return err
	}
	for j := range changes {
		c := changes[j]
		c.ThreadID = i.key.id
		if c.Version <= h.Thread.Version {
			err = i.checkSame(ctx, tx, &c)
		} else {
			h, err = i.take(ctx, tx, h, &c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkSame compares a change with the one that is there, if it is.
func (i *intake) checkSame(ctx context.Context, tx pgx.Tx, c *selvage.Change) error {
	var hash []byte
	err := tx.QueryRow(ctx, `SELECT hash FROM selvage.changes WHERE tenant = $1::text AND thread = $2::bytea AND version = $3::bigint`,
		i.key.tenant, packID(string(i.key.id)), int64(c.Version)).Scan(&hash)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil // it went with a former life
	}
	if err != nil {
		return err
	}
	there := selvage.Change{Hash: selvage.Hash(hash)}
	return commit.Same(&there, c)
}

// take takes a change of another store in and returns the head after it.
func (i *intake) take(ctx context.Context, tx pgx.Tx, h *head, c *selvage.Change) (*head, error) {
	thread := packID(string(i.key.id))
	in, err := commit.Import(&h.Head, c, &lookup{ctx: ctx, store: i.store, from: tx, thread: thread, head: h})
	if err != nil {
		return nil, err
	}
	if in.Plan.Next.Deleted {
		return i.bury(ctx, tx, h, in.Plan)
	}
	w, err := i.store.newWrite(h, in.Plan, &commit.Request{ThreadID: c.ThreadID, Set: in.Set})
	if err != nil {
		return nil, err
	}
	written, err := w.exec(ctx, tx)
	switch {
	case err != nil && judge(err) == duplicate:
		return nil, fmt.Errorf("change set %q of version %d, or a message or run of it, is already there: %w", c.ID, c.Version, selvage.ErrAlreadyExists)
	case err != nil:
		return nil, err
	case !written:
		return nil, errAgain
	}
	return w.next, nil
}

// bury replaces everything there is of the thread, which may be nothing, by
// the tombstone that another store wrote.
func (i *intake) bury(ctx context.Context, tx pgx.Tx, h *head, p *commit.Plan) (*head, error) {
	if h.Thread.Version == 0 {
		if _, err := tx.Exec(ctx, `INSERT INTO selvage.threads (tenant, thread, hash) VALUES ($1::text, $2::bytea, decode(repeat('00', 32), 'hex')) ON CONFLICT DO NOTHING`,
			i.key.tenant, packID(string(i.key.id))); err != nil {
			return nil, err
		}
	}
	d := &deletion{store: i.store}
	w := i.store.newTombstone(h, p)
	if err := d.exec(ctx, tx, w); err != nil {
		return nil, err
	}
	return w.next, d.clear(ctx, tx, i.key.id, p.Change.Version)
}
