package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
)

// runItem is a run of a list, in JSON.
type runItem struct {
	selvage.Run
	Abandoned bool          `json:"abandoned,omitempty"`     // it is at work, and its process is no more
	Unknown   []unknownCall `json:"unknown_calls,omitempty"` // with --unknown
}

// unknownCall is a call that was begun by a process that is no more.
type unknownCall struct {
	CallID         string             `json:"call_id"`
	Name           string             `json:"name"`
	Arguments      json.RawMessage    `json:"arguments,omitempty"`
	Status         selvage.CallStatus `json:"status"`
	Ticket         string             `json:"ticket,omitempty"` // if somebody was asked
	IdempotencyKey string             `json:"idempotency_key,omitempty"`
	Since          time.Time          `json:"since"`
}

// runFilter is one call of run ls.
type runFilter struct {
	query   selvage.RunQuery
	outcome selvage.OutcomeKind // only runs that ended so
	unknown bool                // only runs with a call of which nobody knows whether it happened
	gone    bool                // only runs whose process is no more
	now     time.Time
}

func (a *app) runLsCommand() *cobra.Command {
	var (
		p             pages
		r             runFilter
		thread, agent string
		status, since string
	)
	cmd := &cobra.Command{
		Use: "ls", Short: "List runs, the last created first", Args: noArguments,
		Long: `List runs, the last created first. --status abandoned lists those whose process is
no more, --unknown those with a call that such a process began, so that nobody
knows whether it took effect.`,
		Example: `  selvage run ls --status waiting
  selvage run ls --thread t1 --since 1d
  selvage run ls --unknown`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r.now = time.Now()
			if thread != "" {
				id, err := threadID(thread)
				if err != nil {
					return err
				}
				r.query.ThreadID = id
			}
			r.query.AgentID = agent
			if err := r.wants(status, since); err != nil {
				return err
			}
			if err := p.check(); err != nil {
				return err
			}
			list := a.runListing(r.unknown)
			err := a.withStore(cmd.Context(), forReading, func(ctx context.Context, store selvage.Store) error {
				list.fetch = func(ctx context.Context, limit *int, cursor selvage.Cursor) ([]runItem, selvage.Cursor, error) {
					return r.page(ctx, store, *limit, cursor)
				}
				return list.print(ctx, a, &p)
			})
			if noStoreYet(err) {
				list.finish(a, nil, "")
				return nil
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&thread, "thread", "", "only runs of this thread, `ID`")
	f.StringVar(&agent, "agent", "", "only runs of this agent, `NAME`")
	f.StringVar(&status, "status", "", "only runs that are `STATUS`: created, running, waiting, done, open (not done), abandoned (running, but nobody leads it), completed, failed, cancelled or stopped")
	f.StringVar(&since, "since", "", "only runs created since: a `DURATION` ago, such as 2h or 7d, or at a time, such as 2026-01-31")
	f.BoolVar(&r.unknown, "unknown", false, "only runs with a call of which nobody knows whether it took effect")
	p.register(cmd)
	_ = cmd.RegisterFlagCompletionFunc("thread", func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return a.completeThreads(cmd, nil, begun)
	}) // it fails only for a flag that is not there
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions([]string{"created", "running", "waiting", "done", "open", "abandoned",
		"completed", "failed", "cancelled", "stopped"}, cobra.ShellCompDirectiveNoFileComp)) // as above
	return cmd
}

// wants reads what --status and --since say.
func (r *runFilter) wants(status, since string) error {
	switch status {
	case "":
	case "open":
		r.query.Open = true
	case "abandoned":
		r.query.Status, r.gone = selvage.RunRunning, true
	case string(selvage.RunCreated), string(selvage.RunRunning), string(selvage.RunWaiting), string(selvage.RunDone):
		r.query.Status = selvage.RunStatus(status)
	case string(selvage.OutcomeCompleted), string(selvage.OutcomeFailed), string(selvage.OutcomeCancelled), string(selvage.OutcomeStopped):
		r.query.Status, r.outcome = selvage.RunDone, selvage.OutcomeKind(status)
	default:
		return usage("use created, running, waiting, done, open, abandoned, completed, failed, cancelled or stopped", "--status: %q is not one", status)
	}
	if r.unknown {
		r.query.Open = true
	}
	if since == "" {
		return nil
	}
	var err error
	r.query.Since, err = sinceWhen(since, r.now)
	return err
}

// sinceWhen reads a duration before now, a date or a time.
func sinceWhen(text string, now time.Time) (time.Time, error) {
	if d := durationOf(text); d > 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return now, usage("for example 2h, 7d, 2026-01-31 or 2026-01-31T12:00:00Z", "--since: %q is neither a duration nor a time", text)
}

// page returns the next runs that the filter selects, up to limit. What the
// store cannot select by is left out here, so that it may take several pages of
// the store.
func (r *runFilter) page(ctx context.Context, store selvage.Store, limit int, cursor selvage.Cursor) ([]runItem, selvage.Cursor, error) {
	items := []runItem{}
	q := r.query
	q.Cursor = cursor
	for {
		left := limit - len(items)
		q.Limit = &left
		page, err := store.Runs(ctx, q)
		if err != nil {
			return nil, "", err
		}
		for i := range page.Items {
			item := runItem{Run: page.Items[i]}
			if r.outcome != "" && (item.Outcome == nil || item.Outcome.Kind != r.outcome) {
				continue
			}
			if item.Abandoned, err = abandoned(ctx, store, &item.Run); err != nil {
				return nil, "", err
			}
			if r.gone && !item.Abandoned {
				continue
			}
			if r.unknown {
				if item.Unknown, err = unknownCalls(ctx, store, &item.Run); err != nil {
					return nil, "", err
				}
				if len(item.Unknown) == 0 {
					continue
				}
			}
			items = append(items, item)
		}
		if q.Cursor = page.Next; page.Next == "" || len(items) >= limit {
			return items, page.Next, nil
		}
	}
}

// abandoned reports whether a run is at work without anybody who leads it.
func abandoned(ctx context.Context, store selvage.Store, run *selvage.Run) (bool, error) {
	if run.Status != selvage.RunRunning {
		return false, nil
	}
	head, err := bareHead(ctx, store, run.ThreadID)
	switch {
	case errors.Is(err, selvage.ErrNotFound):
		return false, nil // it was removed just now
	case err != nil || leader(head) != nil || head.OpenRun == nil:
		return false, err
	}
	return head.OpenRun.ID == run.ID && head.OpenRun.Status == selvage.RunRunning, nil // it may just have ended
}

// unknownCalls returns the calls of an open run of which nobody knows whether
// they took effect: those that somebody is asked about, and those whose process
// is no more. As long as a process leads the run its calls are known to it.
func unknownCalls(ctx context.Context, store selvage.Store, run *selvage.Run) ([]unknownCall, error) {
	head, err := bareHead(ctx, store, run.ThreadID)
	if err != nil {
		return nil, err
	}
	led := leader(head) != nil
	var unknown []unknownCall
	for i := range head.OpenCalls {
		c := &head.OpenCalls[i]
		if c.RunID != run.ID {
			continue
		}
		t, err := c.Asks()
		if err != nil {
			return nil, err
		}
		if t != nil && t.Unknown || !led && c.Status == selvage.CallStarted {
			u := unknownCall{CallID: c.ID, Name: c.Name, Status: c.Status, IdempotencyKey: c.IdempotencyKey, Since: c.UpdatedAt}
			if t != nil { // the ticket of a call that was begun is of before
				u.Ticket = c.Ticket
			}
			unknown = append(unknown, u)
		}
	}
	if len(unknown) == 0 {
		return nil, nil
	}
	asked, err := callsAsked(ctx, store, run)
	for i := range unknown {
		unknown[i].Arguments = asked[unknown[i].CallID]
	}
	return unknown, err
}

func (a *app) runListing(unknown bool) listing[runItem] {
	prose := a.runTable
	if unknown {
		prose = a.unknownTable
	}
	return listing[runItem]{
		id:    func(r *runItem) string { return string(r.ID) },
		item:  func(r *runItem) any { return r },
		prose: prose,
	}
}

func (a *app) runTable(runs []runItem) {
	rows := make([][]string, len(runs))
	for i := range runs {
		r := &runs[i].Run
		why := cutTo(circumstance(r), summaryLength)
		if runs[i].Abandoned {
			why = "its process is no more: " + a.again("run", "resume", quote(string(r.ID)))
		}
		rows[i] = []string{string(r.ID), string(r.ThreadID), standing(r), r.AgentID, strconv.Itoa(r.Steps), "$" + r.Cost.String(), moment(r.CreatedAt), why}
	}
	a.table([]string{"ID", "THREAD", "STATUS", "AGENT", "TURNS", "COST", "CREATED", "WHY"}, rows)
}

// unknownTable has a row for each call.
func (a *app) unknownTable(runs []runItem) {
	var rows [][]string
	for i := range runs {
		r := &runs[i]
		for j := range r.Unknown {
			c := &r.Unknown[j]
			what := "nobody was asked yet: " + a.again("run", "resume", quote(string(r.ID)))
			if c.Ticket != "" {
				what = "asked: " + a.again("run", "show", quote(string(r.ID)))
			}
			rows = append(rows, []string{string(r.ID), string(r.ThreadID), c.CallID, fmt.Sprintf("%s %s", c.Name, compact(c.Arguments)), moment(c.Since), what})
		}
	}
	a.table([]string{"RUN", "THREAD", "CALL", "WHAT", "SINCE", "NEXT"}, rows)
}

// cutTo cuts text to what a table can show.
func cutTo(text string, most int) string {
	text = oneLine(text)
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}
