package record

import (
	"context"
	"slices"

	"github.com/selvagehq/selvage"
)

// What one page may cost: how many rows are read at a time, and how many, and
// how many bytes of them, are looked at before the page ends where it is.
const (
	chunkRows = 64
	pageRows  = 4096
	pageBytes = 32 << 20
)

// list is one page in the making.
type list[T any] struct {
	space string
	in    Range
	// pick turns a row into an item, or passes it over.
	pick func(Row) (T, bool, error)
}

// read fills a page of up to limit items and returns the key to go on after,
// nil on the last page.
func (l list[T]) read(tx Tx, limit int) (items []T, last []byte, err error) {
	items = []T{}
	if limit == 0 {
		return items, nil, nil
	}
	l.in.Limit = min(chunkRows, limit+1)
	for seen, bytes := 0, 0; ; {
		rows, err := tx.Scan(l.space, l.in)
		if err != nil {
			return nil, nil, err
		}
		for _, row := range rows {
			if seen >= pageRows || bytes >= pageBytes {
				return items, last, nil
			}
			item, wanted, err := l.pick(row)
			switch {
			case err != nil:
				return nil, nil, err
			case wanted && len(items) == limit:
				return items, last, nil
			case wanted:
				items = append(items, item)
			}
			last = row.Key
			seen, bytes = seen+1, bytes+len(row.Value)
		}
		if len(rows) < l.in.Limit {
			return items, nil, nil
		}
		l.in = l.in.beyond(last)
		l.in.Limit = chunkRows
	}
}

// page reads a page in a view and seals the cursor to the next one.
func (l list[T]) page(ctx context.Context, k *Keeper, limit int, shape any) (items []T, next selvage.Cursor, err error) {
	var last []byte
	err = k.engine.View(ctx, func(tx Tx) (err error) {
		items, last, err = l.read(tx, limit)
		return err
	})
	if err == nil {
		next, err = k.seal(last, shape)
	}
	return items, next, err
}

// beyond is what is left of a range after a key of it.
func (r Range) beyond(key []byte) Range {
	if r.Reverse {
		r.To = key
	} else {
		r.From = after(key)
	}
	return r
}

// place opens a cursor: the range that is left of one.
func (k *Keeper) place(r Range, c selvage.Cursor, shape any) (Range, error) {
	if c == "" {
		return r, nil
	}
	var key []byte
	if err := k.cursors.Open(c, shape, &key); err != nil {
		return r, err
	}
	return r.beyond(key), nil
}

// seal makes the cursor to what follows a key, none after the last page.
func (k *Keeper) seal(last []byte, shape any) (selvage.Cursor, error) {
	if last == nil {
		return "", nil
	}
	return k.cursors.Seal(shape, slices.Clip(last))
}
