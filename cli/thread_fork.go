package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
)

// forkedDocument is what thread fork prints.
type forkedDocument struct {
	changedDocument
	ForkedFrom *selvage.ForkOrigin `json:"forked_from"`
	Undone     []undoneCall        `json:"not_undone"` // calls whose effects the fork does not know of
	// Stays is the open run of the thread that was forked, which goes on there.
	Stays *openRunDocument `json:"stays,omitempty"`
}

func (a *app) threadForkCommand() *cobra.Command {
	var at version
	var as, title string
	cmd := &cobra.Command{
		Use: "fork ID", Short: "Begin a new thread with what a thread is, or was", Args: exactly(1, "the id of a thread"), ValidArgsFunction: a.completeThreads,
		Long: `Begin a new thread with the messages and the state that a thread has, or had at
a version. Both go on independently of each other. The id of the new thread is
printed. What tools did after that version is done all the same, and is told. A
run that is open, and what it waits for, stays with the thread that is forked.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changeThread(cmd.Context(), args[0], func(ctx context.Context, store selvage.Store, id selvage.ThreadID) error {
				req := selvage.ForkRequest{From: id, At: at.v, To: selvage.ThreadID(as)}
				if as != "" {
					if _, err := threadID(as); err != nil {
						return err
					}
				}
				if cmd.Flags().Changed("title") {
					req.Thread = &selvage.ThreadUpdate{Title: &title}
				}
				doc, err := a.fork(ctx, store, req)
				if err != nil {
					return notReached(ctx, store, id, at.v, err)
				}
				a.warnUndone(doc.Undone)
				a.warnStays(doc)
				return a.show(doc, func() {
					a.out.line("%s", doc.ID)
					a.note("forked from %s at version %d; go on: %s", id, doc.ForkedFrom.Version, a.again("chat", "--thread", quote(string(doc.ID))))
				})
			})
		},
	}
	f := cmd.Flags()
	f.Var(&at, "at", "as of this `VERSION`, not as it is now")
	f.StringVar(&as, "as", "", "the `ID` of the new thread")
	f.StringVar(&title, "title", "", "the `TITLE` of the new thread, not the same one")
	return cmd
}

// fork forks a thread; to one with a new id if the request names none.
func (a *app) fork(ctx context.Context, store selvage.Store, req selvage.ForkRequest) (*forkedDocument, error) {
	forker, ok := selvage.As[selvage.Forker](store)
	if !ok {
		return nil, fmt.Errorf("this store cannot fork: %w", selvage.ErrUnsupported)
	}
	if req.To == "" {
		req.To = selvage.ThreadID(selvage.NewID())
	}
	if req.ID == "" {
		req.ID = selvage.NewID()
	}
	receipt, err := forker.Fork(ctx, req)
	if errors.Is(err, selvage.ErrAlreadyExists) {
		return nil, hinted(err, "choose another id, or leave --as out for a new one")
	}
	if err != nil {
		return nil, err
	}
	head, err := bareHead(ctx, store, req.To)
	if err != nil {
		return nil, err
	}
	doc := &forkedDocument{changedDocument{req.To, receipt.Version, receipt.Hash}, head.Thread.ForkedFrom, []undoneCall{}, nil}
	if doc.ForkedFrom != nil {
		if doc.Undone, err = effectsBeyond(ctx, store, req.From, doc.ForkedFrom.Version); err != nil {
			return nil, err
		}
	}
	doc.Stays, err = a.openRun(ctx, store, req.From)
	return doc, err
}
