package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
)

// eraseDocument is an erasure in JSON.
type eraseDocument struct {
	ID       selvage.ThreadID        `json:"id"`
	Version  selvage.Version         `json:"version"`
	Hash     selvage.Hash            `json:"hash"`
	ChangeID string                  `json:"change_id"`
	Replayed bool                    `json:"replayed,omitempty"`
	Erased   []selvage.ErasedMessage `json:"erased"`
	// Summaries are the ids of those of them that were made of the others.
	Summaries []string `json:"summaries"`
}

func (a *app) threadEraseCommand() *cobra.Command {
	var req selvage.EraseRequest
	var yes bool
	cmd := &cobra.Command{
		Use: "erase ID --message M", Short: "Take the content of messages out of a thread, for good",
		Args: exactly(1, "the id of a thread"), ValidArgsFunction: a.completeThreads,
		Long: `Take the content of messages out of a thread, for good. Their ids, roles and
places stay, and a digest that proves that they were there and gives nothing
away: ` + "`thread verify`" + ` holds as before. Every copy in the history of the thread
goes, and so do summaries that were made of it: the conversation goes on without
these. Copies in its title (which chat makes of the first message), its state, in
other messages, in forks, exports and backups are yours to find; what the log
says about title and state goes only with the whole thread, by ` + "`thread rm`" + `.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := threadID(args[0])
			if err != nil {
				return err
			}
			if len(req.Messages) == 0 {
				return usage("`selvage thread messages "+quote(string(id))+" --visibility all -q` lists ids", "say which: --message M")
			}
			return a.withStore(cmd.Context(), forChanging, func(ctx context.Context, store selvage.Store) error {
				return plainly(id, a.erase(ctx, store, id, req, yes))
			})
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&req.Messages, "message", nil, "`ID` of a message; may be repeated")
	f.StringVar(&req.ID, "change-id", "", "`ID` of the change that tells of it; the same id again does nothing twice")
	f.BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

func (a *app) erase(ctx context.Context, store selvage.Store, id selvage.ThreadID, req selvage.EraseRequest, yes bool) error {
	eraser, ok := selvage.As[selvage.Eraser](store)
	if !ok {
		return fmt.Errorf("this store cannot erase messages: %w", selvage.ErrUnsupported)
	}
	if !yes {
		what := fmt.Sprintf("the content of message %q", req.Messages[0])
		if n := len(req.Messages); n > 1 {
			what = fmt.Sprintf("the content of %d messages", n)
		}
		if err := a.confirm(ctx, fmt.Sprintf("Erase %s of %q for good?", what, id), "nothing was erased"); err != nil {
			return err
		}
	}
	r, err := eraser.Erase(ctx, id, req)
	if err != nil {
		return err
	}
	doc := &eraseDocument{ID: id, Version: r.Version, Hash: r.Hash, ChangeID: r.ChangeID, Replayed: r.Replayed, Summaries: []string{}}
	if doc.Erased, err = erasedBy(ctx, store, id, r.Version); err != nil {
		return err
	}
	if err := a.eraseSummaries(ctx, store, eraser, req.Messages, doc); err != nil {
		return err
	}
	if err := a.tellLeft(ctx, store, id); err != nil {
		return err
	}
	return a.show(doc, func() {
		for _, m := range doc.Erased {
			where := fmt.Sprintf("message %d", m.Seq)
			if m.Seq == 0 {
				where = "a duplicate that was dropped"
			}
			if slices.Contains(doc.Summaries, m.ID) {
				where += ", a summary that was made of it"
			}
			a.note("erased %s: %s, of version %d", m.ID, where, m.Version)
		}
	})
}

// eraseSummaries erases the summaries that were made of erased messages, in a
// change of their own. If that fails the messages are erased all the same, and
// the same command again makes up for it.
func (a *app) eraseSummaries(ctx context.Context, store selvage.Store, eraser selvage.Eraser, messages []string, doc *eraseDocument) error {
	summaries, err := runner.CoveringSummaries(ctx, store, doc.ID, messages)
	if err != nil || len(summaries) == 0 {
		return err
	}
	r, err := eraser.Erase(ctx, doc.ID, selvage.EraseRequest{Messages: summaries})
	if err != nil {
		return hinted(fmt.Errorf("the messages are erased, but not the summaries that were made of them: %w", err), "the same command again erases these too")
	}
	told, err := erasedBy(ctx, store, doc.ID, r.Version)
	doc.Version, doc.Hash, doc.Summaries, doc.Erased = r.Version, r.Hash, summaries, append(doc.Erased, told...)
	return err
}

// erasedBy returns what the change of a version tells of erased messages.
func erasedBy(ctx context.Context, store selvage.Store, id selvage.ThreadID, v selvage.Version) ([]selvage.ErasedMessage, error) {
	one := 1
	page, err := store.Changes(ctx, id, selvage.ChangeQuery{After: v - 1, Limit: &one})
	if err != nil {
		return nil, err
	}
	all := []selvage.ErasedMessage{}
	for i := range page.Items {
		told, err := page.Items[i].Erasures()
		if err != nil {
			return nil, err
		}
		all = append(all, told...)
	}
	return all, nil
}

// tellLeft tells of what was made of messages and stays: nobody looks for a
// copy they did not make.
func (a *app) tellLeft(ctx context.Context, store selvage.Store, id selvage.ThreadID) error {
	head, err := headOf(ctx, store, id)
	if err != nil {
		return err
	}
	if title := head.Thread.Title; title != "" {
		a.tell("the title is still %q, and the log keeps it; forks, the state and backups may hold copies, too (`%s thread erase --help`)", title, a.name)
	}
	return nil
}
