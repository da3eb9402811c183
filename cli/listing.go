package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
)

// pages are the flags of a command that lists.
type pages struct {
	limit  count
	cursor string
	all    bool
}

func (p *pages) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Var(&p.limit, "limit", "at most this `NUMBER` of items (default 50)")
	f.StringVar(&p.cursor, "cursor", "", "go on where a list was cut: its `CURSOR`")
	f.BoolVar(&p.all, "all", false, "every item")
}

func (p *pages) check() error {
	if p.all && p.limit.n != nil {
		return usage("leave one of them out", "--all and --limit contradict each other")
	}
	return nil
}

// listing is a list as a command prints it.
type listing[T any] struct {
	// fetch returns one page.
	fetch func(ctx context.Context, limit *int, cursor selvage.Cursor) ([]T, selvage.Cursor, error)
	id    func(*T) string // what --quiet prints
	item  func(*T) any    // what JSON prints
	prose func([]T)       // what people read
}

// print fetches what the flags ask for and prints it. JSON lines and ids are
// printed page by page.
func (l *listing[T]) print(ctx context.Context, a *app, p *pages) error {
	if err := p.check(); err != nil {
		return err
	}
	collected := []T{}
	total, want := 0, selvage.DefaultPage
	if p.limit.n != nil {
		want = *p.limit.n
	}
	cursor := selvage.Cursor(p.cursor)
	for {
		limit := selvage.MaxPage
		if !p.all {
			limit = min(want-total, selvage.MaxPage)
		}
		items, next, err := l.fetch(ctx, &limit, cursor)
		if err != nil {
			return err
		}
		total += len(items)
		collected = l.emit(a, collected, items)
		cursor = next
		if cursor == "" || !p.all && total >= want || a.out.err != nil {
			break
		}
	}
	l.finish(a, collected, cursor)
	if cursor != "" && a.out.err == nil {
		// Told even with --quiet: a script must not take a part for the whole.
		a.tell("%d shown, there are more: --all, or --cursor %s", total, quote(string(cursor)))
	}
	return nil
}

// emit prints items if they can be printed before the list is complete, and
// collects them otherwise.
func (l *listing[T]) emit(a *app, collected, items []T) []T {
	switch {
	case a.flags.quiet:
		for i := range items {
			a.out.line("%s", l.id(&items[i]))
		}
	case a.format() == formatLines:
		for i := range items {
			a.out.jsonLine(l.item(&items[i]))
		}
	default:
		return append(collected, items...)
	}
	return collected
}

func (l *listing[T]) finish(a *app, collected []T, cursor selvage.Cursor) {
	switch {
	case a.flags.quiet, a.format() == formatLines:
	case a.format() == formatJSON:
		a.out.json(documentOf(collected, l.item, cursor))
	default:
		l.prose(collected)
	}
}

// listDocument is a list in JSON. The cursor is "" when the list is complete.
type listDocument struct {
	Items []any          `json:"items"`
	Next  selvage.Cursor `json:"next_cursor"`
}

func documentOf[T any](items []T, item func(*T) any, cursor selvage.Cursor) *listDocument {
	doc := &listDocument{Items: make([]any, len(items)), Next: cursor}
	for i := range items {
		doc.Items[i] = item(&items[i])
	}
	return doc
}
