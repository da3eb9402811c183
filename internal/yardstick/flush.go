package yardstick

import (
	"context"
	"errors"
	"os"
	"time"
)

// Flush writes a page to a new file in a directory and forces it to the disk,
// over and over until the time is up: what it costs there to survive a loss of
// power. The file is removed.
func (s *Sample) Flush(ctx context.Context, dir string, d time.Duration) (err error) {
	f, err := os.CreateTemp(dir, "flush-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	page := make([]byte, 4096)
	return s.During(ctx, d, []func(context.Context) error{func(ctx context.Context) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := f.Write(page); err != nil {
			return err
		}
		return f.Sync()
	}})
}
