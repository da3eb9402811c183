package record

import (
	"context"
	"fmt"
	"strings"

	"github.com/selvagehq/selvage"
)

// memoryShape is what a cursor of entries is bound to.
type memoryShape struct {
	List      string `json:"list"`
	Owner     string `json:"owner"`
	Namespace string `json:"namespace"`
	Prefix    string `json:"prefix"`
	Text      string `json:"text"`
}

// List implements [selvage.Memory].
func (m memory) List(ctx context.Context, q selvage.MemoryQuery) (page selvage.MemoryPage, err error) {
	if page, err = m.list(ctx, q); err != nil {
		return selvage.MemoryPage{}, fmt.Errorf("list memory: %w", err)
	}
	return page, nil
}

func (m memory) list(ctx context.Context, q selvage.MemoryQuery) (page selvage.MemoryPage, err error) {
	in, err := memoryRange(q)
	if err != nil {
		return page, err
	}
	limit, err := selvage.PageLimit(q.Limit)
	if err != nil {
		return page, err
	}
	shape := memoryShape{memorySpace, string(q.Owner), q.Namespace, q.Prefix, strings.ToLower(q.Text)}
	if in, err = m.k.place(in, q.Cursor, shape); err != nil {
		return page, err
	}
	l := list[selvage.MemoryEntry]{memorySpace, in, func(r Row) (e selvage.MemoryEntry, wanted bool, err error) {
		parts, err := names(r.Key, 3)
		if err != nil {
			return e, false, err
		}
		var row memoryRow
		value, err := decode(memorySpace, r.Value, &row)
		if err != nil {
			return e, false, err
		}
		e = row.entry(selvage.MemoryName{Owner: q.Owner, Namespace: parts[1], Key: parts[2]}, value)
		return e, shape.Text == "" || mentions(e.Key, e.Value, shape.Text), nil
	}}
	page.Items, page.Next, err = l.page(ctx, m.k, limit, shape)
	return page, err
}

// memoryRange is where the entries of a query stand.
func memoryRange(q selvage.MemoryQuery) (Range, error) {
	if err := checkOwner(q.Owner); err != nil {
		return Range{}, err
	}
	if q.Namespace == "" {
		if q.Prefix != "" {
			return Range{}, invalid("prefix", "keys begin alike within a namespace; name one")
		}
		return below(keyOf(string(q.Owner))), nil
	}
	if err := checkName("namespace", q.Namespace); err != nil {
		return Range{}, err
	}
	if q.Prefix != "" {
		if err := checkName("prefix", q.Prefix); err != nil {
			return Range{}, err
		}
	}
	return below(append(keyOf(string(q.Owner), q.Namespace), q.Prefix...)), nil
}

// Owners implements [selvage.Memory].
func (m memory) Owners(ctx context.Context, q selvage.MemoryOwnerQuery) (page selvage.MemoryOwnerPage, err error) {
	if page, err = m.owners(ctx, q); err != nil {
		return selvage.MemoryOwnerPage{}, fmt.Errorf("list owners of memory: %w", err)
	}
	return page, nil
}

func (m memory) owners(ctx context.Context, q selvage.MemoryOwnerQuery) (page selvage.MemoryOwnerPage, err error) {
	limit, err := selvage.PageLimit(q.Limit)
	if err != nil {
		return page, err
	}
	in := Range{}
	if q.Kind != "" {
		if err := checkOwner(selvage.MemoryOwner(q.Kind + ":x")); err != nil {
			return page, err
		}
		in = below([]byte(q.Kind + ":"))
	}
	shape := memoryShape{List: ownerSpace, Owner: q.Kind}
	if in, err = m.k.place(in, q.Cursor, shape); err != nil {
		return page, err
	}
	l := list[selvage.MemoryOwner]{ownerSpace, in, func(r Row) (selvage.MemoryOwner, bool, error) {
		parts, err := names(r.Key, 1)
		if err != nil {
			return "", false, err
		}
		return selvage.MemoryOwner(parts[0]), true, nil
	}}
	page.Items, page.Next, err = l.page(ctx, m.k, limit, shape)
	return page, err
}
