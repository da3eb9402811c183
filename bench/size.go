package main

import (
	"context"
	"fmt"
	"os"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

// sizes compares the whole file, once the log is back in it, to the JSON it was
// given.
func sizes(ctx context.Context, cfg config) ([]gate, error) {
	var gates []gate
	for _, c := range []struct {
		size      int
		must, aim float64
	}{{1 << 10, 1.45, 1.35}, {4 << 10, 1.17, 1.15}} {
		threads, each := 16, 600
		if cfg.quick {
			threads, each = 4, 20
		}
		var stored int64
		err := storeIn(ctx, cfg.dir, func(s *sqlite.Store) error {
			for t := range threads {
				w := &writer{store: s, id: selvage.ThreadID(fmt.Sprintf("thread-%d", t))}
				for range each {
					if err := w.append(ctx, c.size); err != nil {
						return err
					}
				}
			}
			// The last store to close a file leaves nothing beside it.
			if err := s.Close(); err != nil {
				return err
			}
			info, err := os.Stat(s.Path())
			if err == nil {
				stored = info.Size()
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		payload := int64(threads * each * c.size)
		gates = append(gates, atMost(fmt.Sprintf("bytes stored, %d KiB", c.size>>10), c.must, c.aim, float64(stored)/float64(payload)).
			of(fmt.Sprintf("%d bytes a change set", stored/int64(threads*each)), fmt.Sprintf("%d bytes of JSON", c.size)))
	}
	return gates, nil
}
