package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/selvagehq/selvage"
)

// secureLog makes what was found in the log as durable as an append.
//
// Its last changes may be those of a process that died before it had forced
// them to the disk, or was told that they could not be. The engine takes them
// for committed: they can be read. Then who sends them again is answered that
// they are there, and what is appended next relies on them, so a loss of power
// must not take them any more. To sync the log is not enough after a sync that
// failed, because many systems take what they failed to write for written.
// Therefore it is all written again, into the database, and the log begun anew.
//
// While others work on the file that is neither possible nor needed: the log
// was found by one of them, and what they add is shown once it is on the disk.
func (s *Store) secureLog(c *conn) error {
	if s.opts.Durability != Durable {
		return nil
	}
	log := s.path + "-wal"
	info, err := os.Stat(log)
	if err == nil && info.Size() > 0 {
		c.tally = nil // what an append costs is to be seen in the counts
		_, err = c.one(func(*rows) {}, "PRAGMA wal_checkpoint(TRUNCATE)")
		c.tally = &s.tally
	}
	// That the log is empty or gone has to last, too: what it held before would
	// be taken for newer than the database.
	if err == nil || busy(err) {
		err = s.opts.drive.sync(log)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = s.opts.drive.sync(filepath.Dir(log))
	}
	if err != nil {
		return fmt.Errorf("database %s: the changes found in its log cannot be forced to the disk: %w: %w", s.path, selvage.ErrUnavailable, err)
	}
	return nil
}
