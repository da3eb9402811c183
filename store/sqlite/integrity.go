package sqlite

import (
	"context"
	"fmt"

	"github.com/selvagehq/selvage"
)

// CheckIntegrity reads the whole file and checks that it is a sound database.
// What the rows mean is not looked at: a thread proves itself by its chain. The
// error matches [selvage.ErrCorrupt] and holds the first fault. It takes time
// in proportion to the size of the file, and writers need not wait for it.
func (s *Store) CheckIntegrity(ctx context.Context) error {
	fault := ""
	err := s.read(ctx, func(c *conn) error {
		_, err := c.one(func(r *rows) { fault = r.text(0) }, "PRAGMA quick_check(1)")
		return err
	})
	if err == nil && fault != "ok" {
		err = fmt.Errorf("database %s: %s: %w", s.path, fault, selvage.ErrCorrupt)
	}
	if err != nil {
		return fmt.Errorf("check integrity: %w", err)
	}
	return nil
}
