package inmem

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/archive"
	"github.com/selvagehq/selvage/store/commit"
	"github.com/selvagehq/selvage/store/record"
)

// backup is the capability [selvage.Backup] of a store.
type backup struct{ s *Store }

var (
	_ selvage.Backup = backup{}
	_ archive.Source = backup{}
	_ archive.Target = backup{}
)

// Backup implements [selvage.Backup]. Writers wait for it.
func (b backup) Backup(ctx context.Context, w io.Writer, opts selvage.BackupOptions) (selvage.BackupReport, error) {
	h := archive.Header{Backend: "memory", At: b.s.now().UTC().Truncate(selvage.TimePrecision)}
	b.s.mu.RLock()
	h.Generation = b.s.feed.generation
	b.s.mu.RUnlock()
	n, err := archive.Backup(ctx, w, h, b, opts.Told)
	if err != nil {
		return selvage.BackupReport{Items: n}, fmt.Errorf("back up: %w", err)
	}
	return selvage.BackupReport{Items: n}, nil
}

// Restore implements [selvage.Backup].
func (b backup) Restore(ctx context.Context, r io.Reader, opts selvage.BackupOptions) (selvage.BackupReport, error) {
	n, err := archive.Restore(ctx, r, b, opts.Told)
	if err != nil {
		return selvage.BackupReport{Items: n}, fmt.Errorf("restore: %w", err)
	}
	return selvage.BackupReport{Items: n}, nil
}

// Dump implements [archive.Source].
func (b backup) Dump(ctx context.Context, add func(*archive.Item) error) error {
	b.s.mu.RLock()
	defer b.s.mu.RUnlock()
	if err := b.s.enter(ctx); err != nil {
		return err
	}
	for tenant, space := range b.s.spaces {
		for _, dump := range []func(func(*archive.Item) error) error{space.dumpBlobs, space.dumpThreads, space.dumpDeliveries, space.dumpRecords} {
			err := dump(func(item *archive.Item) error {
				item.Tenant = tenant
				if err := ctx.Err(); err != nil {
					return err
				}
				return add(item)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *space) dumpBlobs(add func(*archive.Item) error) error {
	for id, blob := range s.blobs {
		if err := add(&archive.Item{Blob: &archive.Blob{ID: selvage.BlobScheme + id.String(), Data: blob.content}}); err != nil {
			return err
		}
	}
	return nil
}

func (s *space) dumpThreads(add func(*archive.Item) error) error {
	threads := sortedByID(s.threads)
	slices.SortStableFunc(threads, func(a, b *thread) int { return cmp.Compare(a.created, b.created) })
	for _, t := range threads {
		for i := range t.log {
			if err := add(&archive.Item{Change: &t.log[i]}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *space) dumpDeliveries(add func(*archive.Item) error) error {
	for _, d := range s.outbox {
		item := &archive.Delivery{Thread: d.thread, Version: d.v, Index: d.Index, Lane: d.Lane, Target: d.Target,
			Status: slices.Index(deliveryStatuses[:], d.status), AvailableAt: d.due, DoneAt: d.done, Attempts: d.attempts, MaxAttempts: d.MaxAttempts,
			Key: d.Key, Digest: d.Digest, LastError: d.failure}
		if err := add(&archive.Item{Delivery: item}); err != nil {
			return err
		}
	}
	return nil
}

// deliveryStatuses are the statuses in the order of an archive's numbers.
var deliveryStatuses = [...]selvage.DeliveryStatus{archive.Due: selvage.DeliveryDue, archive.Delivered: selvage.DeliveryDelivered, archive.Dead: selvage.DeliveryDead}

func (s *space) dumpRecords(add func(*archive.Item) error) error {
	for name, rows := range s.records.spaces {
		for _, r := range rows {
			if err := add(&archive.Item{Record: &archive.Record{Space: name, Key: r.Key, Value: r.Value, Thread: r.Thread, Expires: r.Expires}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Empty implements [archive.Target].
func (b backup) Empty(ctx context.Context) (bool, error) {
	b.s.mu.RLock()
	defer b.s.mu.RUnlock()
	if err := b.s.enter(ctx); err != nil {
		return false, err
	}
	for _, space := range b.s.spaces {
		if len(sortedByID(space.threads))+len(space.records.spaces)+len(space.blobs) > 0 {
			return false, nil
		}
	}
	return true, nil
}

// Tenant implements [archive.Target].
func (b backup) Tenant(name string) (selvage.Store, error) {
	if name == "" {
		return b.s, nil
	}
	return b.s.Tenant(name)
}

// in runs f on what there is of a tenant.
func (b backup) in(ctx context.Context, tenant string, f func(*space)) error {
	s, err := b.Tenant(tenant)
	if err != nil {
		return err
	}
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	if err := b.s.enter(ctx); err != nil {
		return err
	}
	f(s.(*Store).space)
	return nil
}

// PutDeliveries implements [archive.Target].
func (b backup) PutDeliveries(ctx context.Context, tenant string, list []*archive.Delivery) error {
	return b.in(ctx, tenant, func(s *space) {
		for _, d := range list {
			t := s.threads[d.Thread]
			if t == nil || d.Version < t.log[0].Version || d.Status < 0 || d.Status >= len(deliveryStatuses) {
				continue // its change is gone
			}
			c := &t.log[d.Version-t.log[0].Version]
			set, err := c.Set()
			if err != nil || d.Index < 0 || d.Index >= len(set.Outbox) {
				continue // it is none of that change
			}
			id := selvage.OutboxID(d.Thread, d.Version, d.Index, &set.Outbox[d.Index])
			s.outbox[id] = &delivery{tenant: tenant, thread: d.Thread, v: d.Version, created: b.s.tick(), status: deliveryStatuses[d.Status],
				due: d.AvailableAt, done: d.DoneAt, attempts: d.Attempts, failure: d.LastError,
				Delivery: commit.Delivery{Index: d.Index, Lane: d.Lane, Target: d.Target, MaxAttempts: d.MaxAttempts, Key: d.Key, Digest: d.Digest}}
		}
	})
}

// PutRecords implements [archive.Target].
func (b backup) PutRecords(ctx context.Context, tenant string, list []*archive.Record) error {
	return b.in(ctx, tenant, func(s *space) {
		for _, r := range list {
			s.records.put(r.Space, record.Row{Key: r.Key, Value: r.Value, Thread: r.Thread, Expires: r.Expires})
		}
	})
}

// Raise implements [archive.Target].
func (b backup) Raise(ctx context.Context, above int64) error {
	return b.in(ctx, "", func(*space) { b.s.feed.generation = max(b.s.feed.generation, above) + 1 })
}
