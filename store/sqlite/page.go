package sqlite

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
	last  any // place of the last item
	limit int
	more  bool // there is an item beyond
}

func newPage[T any](limit *int) (p page[T], err error) {
	p.limit, err = selvage.PageLimit(limit)
	p.items = []T{}
	return p, err
}

// full reports whether the page wants no item. Asked with one at hand, it
// knows that there is one beyond.
func (p *page[T]) full() bool {
	if len(p.items) < p.limit {
		return false
	}
	p.more = p.limit > 0
	return true
}

func (p *page[T]) add(item T, place any) { p.items, p.last = append(p.items, item), place }

// next is the cursor to what follows the page.
func (p *page[T]) next(k *selvage.CursorKey, shape any) (selvage.Cursor, error) {
	if !p.more {
		return "", nil
	}
	return k.Seal(shape, p.last)
}
