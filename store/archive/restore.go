package archive

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/selvagehq/selvage"
)

// Source is a store that an archive is made of.
type Source interface {
	// Dump calls add with everything the store keeps for all tenants, as of
	// one moment: blobs first, the log of each thread in one piece, threads in
	// the order of their creation. What it passes may be used again after add has returned.
	Dump(ctx context.Context, add func(*Item) error) error
}

// Target is a store that an archive is restored into.
type Target interface {
	// Empty reports whether nothing was ever kept.
	Empty(ctx context.Context) (bool, error)
	// Tenant returns what belongs to one tenant; the store itself for "". It is
	// an [selvage.Importer] and a [selvage.Blobs].
	Tenant(name string) (selvage.Store, error)
	// PutDeliveries and PutRecords write rows of one tenant.
	PutDeliveries(ctx context.Context, tenant string, rows []*Delivery) error
	PutRecords(ctx context.Context, tenant string, rows []*Record) error
	// Raise makes the generation of the store greater than that given.
	Raise(ctx context.Context, generation int64) error
}

// Backup writes everything a store keeps to w. Told, if not nil, is called
// with the number of items now and then.
func Backup(ctx context.Context, w io.Writer, h Header, from Source, told func(items int64)) (int64, error) {
	a, err := NewWriter(w, h)
	if err != nil {
		return 0, err
	}
	err = from.Dump(ctx, func(item *Item) error {
		if told != nil && a.items%often == 0 {
			told(a.items)
		}
		return a.Add(item)
	})
	if err != nil {
		a.Abandon()
		return a.items, err
	}
	return a.items, a.Close()
}

// often is after how many items progress is told.
const often = 100

// The bounds of what is restored at once.
const (
	batchItems = 500
	batchBytes = 8 << 20
)

// Restore reads an archive into a store that is empty, and raises its
// generation. A store that is not empty matches [selvage.ErrAlreadyExists] and
// is left alone. After another error a part of the archive is in the store,
// which is then good for nothing.
func Restore(ctx context.Context, r io.Reader, to Target, told func(items int64)) (int64, error) {
	a, err := NewReader(r)
	if err != nil {
		return 0, err
	}
	defer a.Close()
	empty, err := to.Empty(ctx)
	switch {
	case err != nil:
		return 0, err
	case !empty:
		return 0, fmt.Errorf("the store is not empty; restore into a new one: %w", selvage.ErrAlreadyExists)
	}
	b := &restoration{to: to, stores: map[string]selvage.Store{}}
	defer b.close()
	for item, err := range a.Items() {
		if err == nil {
			err = b.add(ctx, item)
		}
		if err != nil {
			return a.items, fmt.Errorf("restore item %d: %w", a.items, err)
		}
		if told != nil && a.items%often == 0 {
			told(a.items)
		}
	}
	if err := b.flush(ctx); err != nil {
		return a.items, err
	}
	return a.items, to.Raise(ctx, a.Header.Generation)
}

// restoration gathers items until they are worth a transaction.
type restoration struct {
	to     Target
	stores map[string]selvage.Store
	items  []*Item
	bytes  int
}

func (b *restoration) close() {
	for name, s := range b.stores {
		if name != "" {
			_ = s.Close() // it only ends the use of a handle
		}
	}
}

func (b *restoration) tenant(name string) (selvage.Store, error) {
	if s := b.stores[name]; s != nil {
		return s, nil
	}
	s, err := b.to.Tenant(name)
	if err == nil {
		b.stores[name] = s
	}
	return s, err
}

func (b *restoration) add(ctx context.Context, item *Item) error {
	b.items = append(b.items, item)
	switch {
	case item.Change != nil:
		body := selvage.Body{Messages: item.Change.Messages, Rest: item.Change.Rest}
		b.bytes += body.Size()
	case item.Blob != nil:
		b.bytes += len(item.Blob.Data)
	case item.Record != nil:
		b.bytes += len(item.Record.Value)
	}
	if len(b.items) < batchItems && b.bytes < batchBytes {
		return nil
	}
	return b.flush(ctx)
}

// flush writes what was gathered: blobs, then changes thread by thread, then
// what stands beside them.
func (b *restoration) flush(ctx context.Context) error {
	items := b.items
	b.items, b.bytes = nil, 0
	for _, item := range items {
		if item.Blob != nil {
			if err := b.putBlob(ctx, item); err != nil {
				return err
			}
		}
	}
	if err := b.importChanges(ctx, items); err != nil {
		return err
	}
	deliveries, records := map[string][]*Delivery{}, map[string][]*Record{}
	for _, item := range items {
		switch {
		case item.Delivery != nil:
			deliveries[item.Tenant] = append(deliveries[item.Tenant], item.Delivery)
		case item.Record != nil:
			records[item.Tenant] = append(records[item.Tenant], item.Record)
		}
	}
	for tenant, rows := range deliveries {
		if err := b.to.PutDeliveries(ctx, tenant, rows); err != nil {
			return err
		}
	}
	for tenant, rows := range records {
		if err := b.to.PutRecords(ctx, tenant, rows); err != nil {
			return err
		}
	}
	return nil
}

func (b *restoration) putBlob(ctx context.Context, item *Item) error {
	s, err := b.tenant(item.Tenant)
	if err != nil {
		return err
	}
	blobs, ok := selvage.As[selvage.Blobs](s)
	if !ok {
		return fmt.Errorf("the store keeps no blobs: %w", selvage.ErrUnsupported)
	}
	ref, err := blobs.Put(ctx, bytes.NewReader(item.Blob.Data))
	if err == nil && ref.ID != item.Blob.ID {
		err = fmt.Errorf("blob %s has another content: %w", item.Blob.ID, selvage.ErrCorrupt)
	}
	return err
}

// importChanges imports the changes in their order: threads are listed in that
// of their creation.
func (b *restoration) importChanges(ctx context.Context, items []*Item) error {
	var changes []*Item
	for _, item := range items {
		if item.Change != nil {
			changes = append(changes, item)
		}
	}
	for len(changes) > 0 {
		n := 1
		for n < len(changes) && changes[n].Tenant == changes[0].Tenant && changes[n].Change.ThreadID == changes[0].Change.ThreadID {
			n++
		}
		if err := b.importThread(ctx, changes[:n]); err != nil {
			return err
		}
		changes = changes[n:]
	}
	return nil
}

func (b *restoration) importThread(ctx context.Context, items []*Item) error {
	s, err := b.tenant(items[0].Tenant)
	if err != nil {
		return err
	}
	importer, ok := selvage.As[selvage.Importer](s)
	if !ok {
		return fmt.Errorf("the store takes no logs in: %w", selvage.ErrUnsupported)
	}
	log := make([]selvage.Change, len(items))
	for i, item := range items {
		log[i] = *item.Change
	}
	_, err = importer.Import(ctx, log[0].ThreadID, log)
	return err
}
