package sqlite

import (
	"context"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/commit"
)

// Import implements [selvage.Importer]. Changes are committed in groups.
func (s *Store) Import(ctx context.Context, id selvage.ThreadID, changes []selvage.Change) (v selvage.Version, err error) {
	err = commit.CheckImport(id, changes)
	for first := true; err == nil && (first || len(changes) > 0); first = false {
		n, bytes := groupOf(changes)
		err = s.importGroup(ctx, id, changes[:n], bytes)
		changes = changes[n:]
	}
	if err != nil {
		err = fmt.Errorf("import into thread %q: %w", id, err)
	}
	readErr := s.read(context.WithoutCancel(ctx), func(c *conn) error {
		h, err := readHead(c, s.tenant, id)
		v = h.Thread.Version
		return err
	})
	if err == nil {
		err = readErr
	}
	return v, err
}

// importGroup commits changes together.
func (s *Store) importGroup(ctx context.Context, id selvage.ThreadID, changes []selvage.Change, bytes int) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	return s.writer.do(ctx, s.tenant, bytes, func(t *txn) error { return t.takeAll(id, changes) })
}

// groupOf is how many changes, at least one, are committed together.
func groupOf(changes []selvage.Change) (n, bytes int) {
	for n < len(changes) && n < maxGroup {
		body := selvage.Body{Messages: changes[n].Messages, Rest: changes[n].Rest}
		if n > 0 && bytes+body.Size() > maxGroupBytes {
			break
		}
		n, bytes = n+1, bytes+body.Size()
	}
	return n, bytes
}

func (t *txn) takeAll(id selvage.ThreadID, changes []selvage.Change) error {
	for i := range changes {
		c := changes[i]
		c.ThreadID = id
		if err := t.take(&c); err != nil {
			return err
		}
	}
	return nil
}

// take takes a change of another store in.
func (t *txn) take(c *selvage.Change) error {
	e, err := t.head(c.ThreadID)
	if err != nil {
		return err
	}
	if c.Version <= e.Thread.Version {
		return t.checkSame(e, c)
	}
	look := lookup{t: t, e: e, messages: true}
	in, err := commit.Import(&e.Head, c, &look)
	if err != nil {
		return err
	}
	if in.Plan.Next.Deleted {
		return t.buryAs(e, in.Plan)
	}
	fresh, err := t.write(look.e, in.Plan, natureOf(&in.Set, &look))
	if err == nil && !fresh {
		err = fmt.Errorf("change set %q of version %d, or a message of it, is already there: %w", c.ID, c.Version, selvage.ErrAlreadyExists)
	}
	return err
}

// checkSame compares a change with the one that is there. What went with a
// former life of the thread is taken for the same.
func (t *txn) checkSame(e *entry, c *selvage.Change) error {
	if e.Deleted && c.Version < e.Thread.Version {
		return nil
	}
	if !e.Deleted {
		if first, err := e.firstVersion(t.c); err != nil || c.Version < first {
			return err
		}
	}
	there, err := e.readAt(background(), t.c, c.Version)
	if err != nil {
		return err
	}
	return commit.Same(&there.Change, c)
}

// buryAs replaces everything there is of a thread, which may be nothing, by
// the tombstone that another store wrote.
func (t *txn) buryAs(e *entry, p *commit.Plan) error {
	pos, err := t.nextPos()
	if err != nil {
		return err
	}
	next := &entry{head: head{Head: p.Next, key: e.key, pos: pos}, doc: state.Document{}, docKnown: true, seen: t.w.seen}
	if e.key == 0 {
		err = t.insertHead(next)
	} else {
		err = t.updateHead(e, next, p, true)
	}
	if err != nil {
		return err
	}
	if err := t.insertChange(&change{Change: p.Change, pos: pos, hasPrev: true}, next.key); err != nil {
		return err
	}
	t.pos = pos
	if e.key != 0 {
		if err := t.erase(e); err != nil {
			return err
		}
	}
	t.changed[next.name()] = next
	return nil
}
