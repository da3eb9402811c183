package inmem

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/selvagehq/selvage"
)

// Repair implements [selvage.Repairer]. Views in memory are made with the log
// and cannot come apart from it, so that it finds nothing to do; it takes every
// log in again all the same, into a store of its own, and compares.
func (s *Store) Repair(ctx context.Context, req selvage.RepairRequest) (report selvage.RepairReport, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.enter(ctx); err != nil {
		return report, fmt.Errorf("repair: %w", err)
	}
	if req.Thread != "" {
		t := s.threads[req.Thread]
		if t == nil || len(t.log) == 0 {
			return report, fmt.Errorf("repair: thread %q: %w", req.Thread, selvage.ErrNotFound)
		}
		return report, s.check(s.tenant, t, req, &report)
	}
	for tenant, space := range s.spaces {
		for _, t := range sortedByID(space.threads) {
			if err := s.check(tenant, t, req, &report); err != nil {
				return report, err
			}
		}
	}
	return report, nil
}

func sortedByID(threads map[selvage.ThreadID]*thread) []*thread {
	var all []*thread
	for _, t := range threads {
		if len(t.log) > 0 { // not only leased
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b *thread) int { return cmp.Compare(a.head.Thread.ID, b.head.Thread.ID) })
	return all
}

// check compares a thread with what its log adds up to.
func (s *Store) check(tenant string, t *thread, req selvage.RepairRequest, report *selvage.RepairReport) error {
	done := selvage.RepairedThread{Tenant: tenant, ID: t.head.Thread.ID, Version: t.head.Thread.Version}
	again := New(Options{Now: s.now})
	var err error
	for i := 0; err == nil && i < len(t.log); i++ {
		c := cloneChange(&t.log[i])
		err = again.take(&c)
	}
	switch {
	case errors.Is(err, selvage.ErrCorrupt):
		done.Lost = err
	case err != nil:
		return fmt.Errorf("repair: thread %q: %w", done.ID, err)
	default:
		same, err := t.looksLike(again.threads[done.ID])
		if err != nil {
			return fmt.Errorf("repair: thread %q: %w", done.ID, err)
		}
		if !same {
			done.Changed = []string{"head"}
		}
	}
	report.Count(&done)
	if req.Told != nil {
		req.Told(done)
	}
	return nil
}

// looksLike reports whether two threads are the same to whoever reads them.
func (t *thread) looksLike(other *thread) (bool, error) {
	var texts [2]string
	for i, side := range []*thread{t, other} {
		h := side.head
		h.Epoch, h.Thread.Tenant = 0, "" // neither is in the log
		if h.Deleted {
			h.Thread.CreatedAt = h.Thread.UpdatedAt // nor is what was before a tombstone
		}
		data, err := json.Marshal([]any{h, side.doc(), side.messages, side.calls})
		if err != nil {
			return false, err
		}
		texts[i] = string(data)
	}
	return texts[0] == texts[1], nil
}
