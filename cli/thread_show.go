package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
)

// threadDocument is a thread in JSON: the fields of the thread, and what its
// head holds besides.
type threadDocument struct {
	selvage.Thread
	Hash      selvage.Hash     `json:"hash"`
	NextSeq   int64            `json:"next_seq"`
	OpenRun   *selvage.Run     `json:"open_run,omitempty"`
	OpenCalls []selvage.Call   `json:"open_calls,omitempty"`
	Tickets   []ticketDocument `json:"tickets,omitempty"` // what the open run waits for
	Lease     *leaseDocument   `json:"lease,omitempty"`
}

// leaseDocument says who is at work on a thread.
type leaseDocument struct {
	Owner string `json:"owner"`
	Epoch int64  `json:"epoch"`
	Until string `json:"until"`
}

func (a *app) threadShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show a thread", Args: exactly(1, "the id of a thread"), ValidArgsFunction: a.completeThreads,
		RunE: a.onThread(func(ctx context.Context, store selvage.Store, id selvage.ThreadID) error {
			none := 0
			head, err := store.Load(ctx, id, selvage.LoadOptions{Messages: &none})
			if err != nil {
				return err
			}
			doc := &threadDocument{Thread: head.Thread, Hash: head.Hash, NextSeq: head.NextSeq, OpenRun: head.OpenRun, OpenCalls: head.OpenCalls}
			if l := head.Lease; l != nil {
				doc.Lease = &leaseDocument{Owner: l.Owner.String(), Epoch: l.Epoch, Until: moment(l.Until)}
			}
			if head.OpenRun != nil {
				if doc.Tickets, err = a.openTickets(ctx, store, head.OpenRun, &head); err != nil {
					return err
				}
			}
			return a.show(doc, func() {
				if a.flags.quiet {
					a.out.line("%s", doc.ID)
					return
				}
				a.fields(threadFields(doc))
				for i := range doc.Tickets {
					a.printTicket(&doc.Tickets[i])
				}
			})
		}),
	}
}

func threadFields(d *threadDocument) [][2]string {
	pairs := [][2]string{
		{"id", string(d.ID)}, {"version", d.Version.String()}, {"title", d.Title}, {"user", d.UserID},
		{"parent", string(d.ParentID)}, {"messages", strconv.FormatInt(d.NextSeq-1, 10)}, {"hash", d.Hash.String()},
		{"created", moment(d.CreatedAt)}, {"updated", moment(d.UpdatedAt)}, {"expires", moment(d.ExpiresAt)},
		{"latest run", string(d.LatestRunID)},
	}
	if r := d.OpenRun; r != nil {
		pairs = append(pairs, [2]string{"open run", fmt.Sprintf("%s (%s, %d turns)", r.ID, r.Status, r.Steps)}, [2]string{"waits for", circumstance(r)})
	}
	if l := d.Lease; l != nil {
		pairs = append(pairs, [2]string{"in use by", fmt.Sprintf("%s until %s", l.Owner, l.Until)})
	}
	if f := d.ForkedFrom; f != nil {
		pairs = append(pairs, [2]string{"forked from", fmt.Sprintf("%s at version %d", f.ID, f.Version)})
	}
	for _, key := range slices.Sorted(maps.Keys(d.Metadata)) {
		pairs = append(pairs, [2]string{"metadata " + key, string(d.Metadata[key])})
	}
	return pairs
}
