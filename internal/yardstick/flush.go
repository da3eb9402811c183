package yardstick

import (
	"errors"
	"os"
)

// Flush writes a few bytes to a new file in a directory and forces them to the
// disk, n times over: what it costs to survive a loss of power there.
func (s *Sample) Flush(dir string, n int) (err error) {
	f, err := os.CreateTemp(dir, "flush-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	page := make([]byte, 4096)
	return s.Run(n, func() error {
		if _, err := f.Write(page); err != nil {
			return err
		}
		return f.Sync()
	})
}
