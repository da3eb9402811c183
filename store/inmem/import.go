package inmem

import (
	"context"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// Import implements [selvage.Importer].
func (s *Store) Import(ctx context.Context, id selvage.ThreadID, changes []selvage.Change) (selvage.Version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.enter(ctx)
	if err == nil {
		err = commit.CheckImport(id, changes)
	}
	for i := 0; err == nil && i < len(changes); i++ {
		c := cloneChange(&changes[i])
		c.ThreadID = id
		err = s.take(&c)
	}
	if err != nil {
		err = fmt.Errorf("import into thread %q: %w", id, err)
	}
	if s.closed {
		return 0, err
	}
	return s.head(id).Thread.Version, err
}

// take takes a change of another store in.
func (s *Store) take(c *selvage.Change) error {
	t, h := s.threads[c.ThreadID], s.head(c.ThreadID)
	if c.Version <= h.Thread.Version {
		if first := t.log[0].Version; c.Version >= first {
			return commit.Same(&t.log[c.Version-first], c)
		}
		return nil // it went with a former life
	}
	if t != nil {
		if i, known := t.changes[c.ID]; known {
			return fmt.Errorf("change set %q stands at version %d and would stand at %d: %w", c.ID, t.log[i].Version, c.Version, selvage.ErrAlreadyExists)
		}
	}
	in, err := commit.Import(h, c, reader{s, t})
	if err != nil {
		return err
	}
	w, err := prepare(in.Plan)
	if err != nil {
		return err
	}
	if in.Plan.Next.Deleted {
		s.bury(w)
	} else {
		s.write(w)
	}
	return nil
}
