package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
)

// storeVerifyDocument is the proof of a whole store in JSON.
type storeVerifyDocument struct {
	OK       bool           `json:"ok"`
	Threads  int            `json:"threads"`
	Changes  int            `json:"changes"`
	Messages int64          `json:"messages"`
	Damaged  []damageRecord `json:"damaged"`
}

// damageRecord is a thread that is not what was written.
type damageRecord struct {
	ID      selvage.ThreadID `json:"id,omitempty"` // "": the store as a whole
	Version selvage.Version  `json:"version,omitempty"`
	Reason  string           `json:"reason"`
}

func (a *app) storeVerifyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "verify", Short: "Prove that every thread is what was written", Args: noArguments,
		Long: `Check the files or tables of the store, and prove for every thread what
` + "`thread verify`" + ` proves for one. All of it is read. Exits 7 and names what
is damaged; the other threads are proved all the same.`,
		RunE: a.onStore(forReading, func(ctx context.Context, store selvage.Store) error {
			doc := &storeVerifyDocument{Damaged: []damageRecord{}}
			if err := a.verifyStore(ctx, store, doc); err != nil {
				return err
			}
			doc.OK = len(doc.Damaged) == 0
			err := a.show(doc, func() { a.printVerified(doc) })
			if err == nil && !doc.OK {
				return &failure{exit: exitCorrupt, class: "corrupt", err: fmt.Errorf("%d of %d threads are damaged: %w", len(doc.Damaged), doc.Threads, selvage.ErrCorrupt),
					hint: "keep a copy of the store; `selvage store repair` makes what can be made again from the log"}
			}
			return err
		}),
	}
}

// verifyStore proves everything and records what is damaged.
func (a *app) verifyStore(ctx context.Context, store selvage.Store, doc *storeVerifyDocument) error {
	if checker, ok := selvage.As[selvage.Checker](store); ok {
		if err := checker.CheckIntegrity(ctx); errors.Is(err, selvage.ErrCorrupt) {
			doc.Damaged = append(doc.Damaged, damageRecord{Reason: err.Error()})
		} else if err != nil {
			return err
		}
	}
	p := a.progress("verified", "threads", 0)
	defer p.end()
	for t, err := range everyThread(ctx, store, selvage.ThreadQuery{}) {
		if err != nil {
			return err
		}
		proof, err := verifyThread(ctx, store, t.ID)
		switch {
		case errors.Is(err, selvage.ErrNotFound): // deleted since
			continue
		case errors.Is(err, selvage.ErrCorrupt):
			doc.Threads++
			doc.Damaged = append(doc.Damaged, damageOf(t.ID, err))
		case errors.Is(err, selvage.ErrGone):
			doc.Threads++
			doc.Damaged = append(doc.Damaged, damageRecord{ID: t.ID, Version: t.Version,
				Reason: fmt.Sprintf("thread %q ends at version %d, before its state begins: a copy or an import broke off; run it again", t.ID, t.Version)})
		case err != nil:
			return fmt.Errorf("thread %q: %w", t.ID, err)
		default:
			doc.Threads++
			doc.Changes += proof.changes
			doc.Messages += proof.compared
		}
		p.add(1)
	}
	return nil
}

// damageOf tells what is wrong with a thread.
func damageOf(id selvage.ThreadID, err error) damageRecord {
	d := damageRecord{ID: id, Reason: oneLine(err.Error())}
	var known *failure
	if errors.As(err, &known) {
		d.Version, _ = known.details["version"].(selvage.Version)
	}
	return d
}

func (a *app) printVerified(doc *storeVerifyDocument) {
	for _, d := range doc.Damaged {
		name := "the store"
		if d.ID != "" {
			name = string(d.ID)
		}
		a.out.line("%s  %s", a.out.style.red(name), d.Reason)
	}
	if doc.OK && !a.flags.quiet {
		a.out.line("%d threads are whole: %d changes, %d messages", doc.Threads, doc.Changes, doc.Messages)
	}
}
