package inmem

import (
	"context"
	"fmt"

	"github.com/selvagehq/selvage"
)

// Inspect implements [selvage.Inspector]. Nothing is on a disk, so that there
// are no bytes to count but those of bodies.
func (s *Store) Inspect(ctx context.Context) (selvage.StoreInfo, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.enter(ctx); err != nil {
		return selvage.StoreInfo{}, fmt.Errorf("inspect: %w", err)
	}
	info := selvage.StoreInfo{Backend: "memory", Durability: "none", Generation: 1}
	for _, tenant := range s.spaces {
		info.Runs += int64(len(tenant.runs))
		for _, t := range tenant.threads {
			t.count(&info)
		}
	}
	return info, nil
}

// count adds what there is of a thread.
func (t *thread) count(info *selvage.StoreInfo) {
	switch {
	case t.head.Exists():
		info.Threads++
	case t.head.Deleted:
		info.Tombstones++
	}
	if t.head.OpenRun != nil {
		info.OpenRuns++
	}
	for i := range t.log {
		c := &t.log[i]
		body := selvage.Body{Messages: c.Messages, Rest: c.Rest}
		info.Changes++
		info.Messages += int64(c.Added)
		info.BodyBytes += int64(body.Size())
		if i > 0 && !t.docs[i].Equal(t.docs[i-1]) || i == 0 && t.docs[i].Len() > 0 {
			info.StateBytes += int64(len(c.Rest))
		}
	}
}
