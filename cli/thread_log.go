package cli

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
)

// changeDocument is one change of a log in JSON: its header.
type changeDocument struct {
	ThreadID    selvage.ThreadID `json:"thread_id"`
	Version     selvage.Version  `json:"version"`
	ID          string           `json:"id"`
	Reason      selvage.Reason   `json:"reason"`
	What        string           `json:"what,omitempty"` // became of runs and calls
	Run         selvage.RunID    `json:"run"`
	RunID       selvage.RunID    `json:"run_id"` // the same as run
	ParentRunID selvage.RunID    `json:"parent_run_id,omitempty"`
	At          time.Time        `json:"at"`
	Hash        selvage.Hash     `json:"hash"`
	Prev        selvage.Hash     `json:"prev"`
	Content     selvage.Hash     `json:"content"`
	FirstSeq    int64            `json:"first_seq"`
	Messages    int              `json:"messages"` // how many it added
	Dropped     []int            `json:"dropped,omitempty"`
	Bytes       int              `json:"bytes"` // of its body
	Erased      []int            `json:"erased,omitempty"`
	Compacted   bool             `json:"compacted,omitempty"` // its part in the state is gone
}

func (a *app) threadLogCommand() *cobra.Command {
	var (
		p       pages
		reverse bool
	)
	cmd := &cobra.Command{
		Use: "log ID", Short: "List the changes of a thread, the first first", Args: exactly(1, "the id of a thread"), ValidArgsFunction: a.completeThreads,
		RunE: a.onThread(func(ctx context.Context, store selvage.Store, id selvage.ThreadID) error {
			q := selvage.ChangeQuery{Order: orderOf(reverse)}
			list := a.changeListing()
			list.fetch = func(ctx context.Context, limit *int, cursor selvage.Cursor) ([]selvage.Change, selvage.Cursor, error) {
				q.Limit, q.Cursor = limit, cursor
				page, err := store.Changes(ctx, id, q)
				return page.Items, page.Next, err
			}
			return list.print(ctx, a, &p)
		}),
	}
	cmd.Flags().BoolVar(&reverse, "reverse", false, "the last change first")
	p.register(cmd)
	return cmd
}

func orderOf(reverse bool) selvage.Order {
	if reverse {
		return selvage.Descending
	}
	return selvage.Ascending
}

func (a *app) changeListing() listing[selvage.Change] {
	return listing[selvage.Change]{
		id:   func(c *selvage.Change) string { return c.ID },
		item: func(c *selvage.Change) any { return changeOf(c) },
		prose: func(changes []selvage.Change) {
			rows := make([][]string, len(changes))
			for i := range changes {
				c := &changes[i]
				rows[i] = []string{c.Version.String(), moment(c.At), string(c.Reason), strconv.Itoa(c.Added), string(c.RunID), c.Hash.String()[:12], cutTo(whatChanged(c), summaryLength)}
			}
			a.table([]string{"VERSION", "AT", "REASON", "MESSAGES", "RUN", "HASH", "WHAT"}, rows)
		},
	}
}

func changeOf(c *selvage.Change) *changeDocument {
	body := selvage.Body{Messages: c.Messages, Rest: c.Rest}
	return &changeDocument{ThreadID: c.ThreadID, Version: c.Version, ID: c.ID, Reason: c.Reason, What: whatChanged(c), Run: c.RunID, RunID: c.RunID,
		ParentRunID: c.ParentRunID, At: c.At, Hash: c.Hash, Prev: c.Prev, Content: c.Content, FirstSeq: c.FirstSeq,
		Messages: c.Added, Dropped: c.Dropped, Bytes: body.Size(),
		Erased: c.Erased(), Compacted: c.StateGone()}
}
