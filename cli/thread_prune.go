package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
)

// pruning is one call of thread prune.
type pruning struct {
	*app
	before time.Time // threads last written before this go; zero: none do for their age
	status string
	dry    bool
	now    time.Time
}

// pruned is a thread that went, or stays, in JSON.
type pruned struct {
	ID        selvage.ThreadID `json:"id"`
	UpdatedAt time.Time        `json:"updated_at"`
	ExpiresAt time.Time        `json:"expires_at,omitzero"`
	Why       string           `json:"why"`            // expired or old
	Kept      string           `json:"kept,omitempty"` // why it stays all the same
	Removed   bool             `json:"removed"`        // with --dry-run: would be
}

// pruneDocument is what pruning came to in JSON.
type pruneDocument struct {
	Removed int      `json:"removed"`
	Kept    int      `json:"kept"`
	DryRun  bool     `json:"dry_run"`
	Items   []pruned `json:"items"`
}

func (a *app) threadPruneCommand() *cobra.Command {
	p := &pruning{app: a}
	older := duration()
	cmd := &cobra.Command{
		Use: "prune", Short: "Remove threads whose time is over", Args: noArguments,
		Long: `Remove the threads that have expired, and with --older-than those that were not
written for so long. Threads with an open run stay, as do those with children
that stay. ` + "`thread expire`" + ` gives a thread its time.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if p.status != "done" && p.status != "any" {
				return usage("use done or any", "--status: %q is not one", p.status)
			}
			p.now = time.Now()
			if older.text != "" {
				p.before = p.now.Add(-durationOf(older.text))
			}
			return a.withStore(cmd.Context(), forChanging, p.prune)
		},
	}
	f := cmd.Flags()
	f.Var(older, "older-than", "also threads that were not written for this `DURATION`, such as 30d")
	f.StringVar(&p.status, "status", "done", "only threads without an open run: `done`; any takes the others too, unless they are held")
	f.BoolVar(&p.dry, "dry-run", false, "only tell what would be removed")
	return cmd
}

func (p *pruning) prune(ctx context.Context, store selvage.Store) error {
	doc := &pruneDocument{DryRun: p.dry, Items: []pruned{}}
	told := p.progress("pruned", "threads", 0)
	defer told.end()
	// The newest come first, and children are newer than their parents.
	for t, err := range everyThread(ctx, store, selvage.ThreadQuery{}) {
		if err != nil {
			return err
		}
		item := p.choose(&t)
		if item == nil {
			continue
		}
		if item.Kept == "" && !p.dry {
			if err := p.remove(ctx, store, item); err != nil {
				return fmt.Errorf("thread %q: %w", t.ID, err)
			}
		}
		if item.Kept == "" {
			item.Removed = true
			doc.Removed++
		} else {
			doc.Kept++
		}
		doc.Items = append(doc.Items, *item)
		told.add(1)
	}
	return p.show(doc, func() { p.print(doc) })
}

// choose returns a thread whose time is over, or nil.
func (p *pruning) choose(t *selvage.Thread) *pruned {
	item := &pruned{ID: t.ID, UpdatedAt: t.UpdatedAt, ExpiresAt: t.ExpiresAt}
	switch {
	case !t.ExpiresAt.IsZero() && !t.ExpiresAt.After(p.now):
		item.Why = "expired"
	case t.UpdatedAt.Before(p.before):
		item.Why = "old"
	default:
		return nil
	}
	if t.OpenRunID != "" && p.status != "any" {
		item.Kept = "its run " + string(t.OpenRunID) + " is open"
	}
	return item
}

// remove removes a thread, unless somebody is at work on it, has written it
// since it was chosen, or it has children.
func (p *pruning) remove(ctx context.Context, store selvage.Store, item *pruned) error {
	release, err := seize(ctx, store, []selvage.ThreadID{item.ID})
	defer release()
	var busy *selvage.BusyError
	if errors.As(err, &busy) {
		item.Kept = "it is in use by " + busy.Owner.String()
		return nil
	}
	if errors.Is(err, selvage.ErrGone) {
		return nil // somebody else was faster
	}
	if err != nil {
		return err
	}
	none := 0
	head, err := store.Load(ctx, item.ID, selvage.LoadOptions{Messages: &none})
	if errors.Is(err, selvage.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if again := p.choose(&head.Thread); again == nil || again.Kept != "" {
		item.Kept = "it was written meanwhile"
		return nil
	}
	err = store.Delete(ctx, item.ID, selvage.DeleteReject)
	if errors.Is(err, selvage.ErrInvalid) {
		item.Kept = "it has children"
		return nil
	}
	if errors.Is(err, selvage.ErrNotFound) {
		return nil
	}
	return err
}

func (p *pruning) print(doc *pruneDocument) {
	if p.flags.quiet {
		for _, item := range doc.Items {
			if item.Removed {
				p.out.line("%s", item.ID)
			}
		}
		return
	}
	rows := make([][]string, len(doc.Items))
	for i, item := range doc.Items {
		what := "removed"
		switch {
		case item.Kept != "":
			what = "stays: " + item.Kept
		case doc.DryRun:
			what = "would be removed"
		}
		rows[i] = []string{string(item.ID), item.Why, moment(item.UpdatedAt), what}
	}
	p.table([]string{"ID", "WHY", "UPDATED", "WHAT"}, rows)
	verb := "removed"
	if doc.DryRun {
		verb = "would be removed"
	}
	p.note("%d %s, %d stay", doc.Removed, verb, doc.Kept)
}
