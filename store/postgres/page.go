package postgres

import (
	"fmt"

	"github.com/selvagehq/selvage"
)

// direction resolves the order of a query.
func direction(o, fallback selvage.Order) (selvage.Order, error) {
	switch o {
	case "":
		return fallback, nil
	case selvage.Ascending, selvage.Descending:
		return o, nil
	default:
		return "", &selvage.InvalidError{Field: "order", Reason: fmt.Sprintf("%q is not an order; use asc or desc", o)}
	}
}

// page is the part of a list that one query answers.
type page[T any] struct {
	items []T
	last  any // key of the last item
	limit int
	more  bool // there is at least one item beyond
}

// take adds an item and reports whether the page wants another.
func (p *page[T]) take(key any, item T) bool {
	if len(p.items) == p.limit {
		p.more = p.limit > 0
		return false
	}
	p.items, p.last = append(p.items, item), key
	return true
}

// seal returns the items, never nil, and the cursor to what follows them.
func (p *page[T]) seal(k *selvage.CursorKey, shape any) ([]T, selvage.Cursor, error) {
	if p.items == nil {
		p.items = []T{}
	}
	if !p.more {
		return p.items, "", nil
	}
	next, err := k.Seal(shape, p.last)
	return p.items, next, err
}
