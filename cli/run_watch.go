package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
)

// runWatching is one call of run watch.
type runWatching struct {
	watching
	run *selvage.Run
}

// runWatchDocument is what was told of a run, in one JSON document.
type runWatchDocument struct {
	watchDocument
	Run *selvage.Run `json:"run"`
}

func (a *app) runWatchCommand() *cobra.Command {
	wait := duration()
	w := &runWatching{watching: watching{app: a}}
	cmd := &cobra.Command{
		Use: "watch RUN", Short: "Tell what happens in a run until it ends or waits", Args: exactly(1, "the id of a run"),
		Long: `Tell what durably happened in a run, from its beginning or from a position, and
then what happens, until it has ended or waits for a decision. The exit code is
that of its end: 0 completed, 1 failed or stopped, 6 waiting, 130 cancelled.`,
		ValidArgsFunction: a.completeRuns(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onRun(forReading, func(ctx context.Context, store selvage.Store, run *selvage.Run) error {
				if wait.text == "" {
					return w.watch(ctx, store, run)
				}
				limited, stop := context.WithTimeoutCause(ctx, durationOf(wait.text), errPatience)
				defer stop()
				err := w.watch(limited, store, run)
				if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
					return &failure{exit: exitTimeout, class: "timeout", err: fmt.Errorf("run %s has not ended within %s; it goes on", run.ID, wait.text),
						hint: "`" + a.again("run", "watch", quote(string(run.ID)), "--after", w.next) + "`", details: runFacts(run)}
				}
				return err
			})(cmd, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&w.after, "after", "", "only what comes after this `POSITION`, as it was printed")
	f.BoolVar(&w.fresh, "new", false, "only what happens from now on")
	f.Var(wait, "wait", "wait this `DURATION` for the end, then exit 124; the run is not ended")
	return cmd
}

// runFacts are what details of errors say about a run.
func runFacts(run *selvage.Run) map[string]any {
	return map[string]any{"thread_id": run.ThreadID, "run_id": run.ID, "status": run.Status}
}

// watch tells the events of the run, and ends as it does.
func (w *runWatching) watch(ctx context.Context, store selvage.Store, run *selvage.Run) error {
	w.run = run
	if w.fresh && w.after != "" {
		return usage("leave one of them out", "--new and --after contradict each other")
	}
	from, err := w.watcher(store)
	if err != nil {
		return err
	}
	after, err := w.begin(ctx, store)
	if err != nil {
		return err
	}
	if err := w.tellAbandoned(ctx, store); err != nil {
		return err
	}
	// The status that the events told last. What is told may be behind what
	// is, so the run itself is not asked until they are all read.
	last := selvage.RunRunning
	if w.after != "" || w.fresh {
		last = w.run.Status
	}
	for w.out.err == nil {
		page, err := from.Events(ctx, run.ThreadID, selvage.EventQuery{After: after, Wait: last == selvage.RunRunning || last == selvage.RunCreated})
		if err != nil {
			return w.goOn(err)
		}
		for i := range page.Items {
			last = w.tellOf(&page.Items[i], last)
		}
		after, w.next = page.Next, page.Next.String()
		switch {
		case page.Ended:
			return fmt.Errorf("thread %s was deleted: %w", run.ThreadID, selvage.ErrGone)
		case page.More || last == selvage.RunRunning || last == selvage.RunCreated:
			continue
		}
		now, err := findRun(ctx, store, run.ID)
		if err != nil {
			return err
		}
		if last = now.Status; last == selvage.RunDone || last == selvage.RunWaiting {
			return w.end(ctx, store, now)
		}
	}
	return nil
}

// tellAbandoned says of a run whose process is no more that somebody has to go on
// with it, or else there is nothing to watch.
func (w *runWatching) tellAbandoned(ctx context.Context, store selvage.Store) error {
	if w.run.Status != selvage.RunRunning {
		return nil
	}
	head, err := bareHead(ctx, store, w.run.ThreadID)
	if err != nil || leader(head) != nil {
		return err
	}
	now, err := findRun(ctx, store, w.run.ID) // it may just have ended
	if err == nil && now.Status == selvage.RunRunning {
		w.note("nobody leads run %s; go on with: %s", now.ID, w.goesOn(now)[0])
	}
	return err
}

// begin is the position before the first event to tell.
func (w *runWatching) begin(ctx context.Context, store selvage.Store) (selvage.Position, error) {
	var after selvage.Position
	switch {
	case w.after != "":
		return after, w.position(&after)
	case w.fresh:
		head, err := bareHead(ctx, store, w.run.ThreadID)
		if err == nil {
			// It may have gone on before this point was known.
			w.run, err = findRun(ctx, store, w.run.ID)
		}
		return head.Thread.Version.End(), err
	}
	changes, err := changesOf(ctx, store, w.run)
	if err != nil || len(changes) == 0 || changes[0].Version == 1 {
		return after, err
	}
	return (changes[0].Version - 1).End(), nil
}

// tellOf prints an event if it is one of the run, and returns the status that
// the run has after it.
func (w *runWatching) tellOf(e *selvage.Event, last selvage.RunStatus) selvage.RunStatus {
	var u selvage.RunUpdate
	if e.Kind == selvage.EventRun && json.Unmarshal(e.Payload, &u) == nil && u.ID == w.run.ID {
		last = u.Status
	} else if e.RunID != w.run.ID || u.ID != "" {
		return last
	}
	w.event(e)
	return last
}

// end ends as the run did.
func (w *runWatching) end(ctx context.Context, store selvage.Store, run *selvage.Run) error {
	if w.format() == formatJSON {
		w.out.json(&runWatchDocument{watchDocument{append([]any{}, w.items...), w.next}, run})
	}
	return w.ending(ctx, store, run)
}

// ending is nil for a run that completed, and otherwise the failure that says
// why it did not.
func (a *app) ending(ctx context.Context, store selvage.Store, run *selvage.Run) error {
	f := &failure{exit: exitFailed, class: "run_failed", details: runFacts(run)}
	if run.Status == selvage.RunWaiting {
		head, err := bareHead(ctx, store, run.ThreadID)
		if err != nil {
			return err
		}
		tickets, err := a.openTickets(ctx, store, run, head)
		if err != nil {
			return err
		}
		return a.waiting(run, tickets)
	}
	if run.Outcome == nil || run.Outcome.Kind == selvage.OutcomeCompleted {
		return nil
	}
	f.details["outcome"] = run.Outcome
	switch run.Outcome.Kind {
	case selvage.OutcomeStopped:
		f.class = "stopped"
	case selvage.OutcomeCancelled:
		f.exit, f.class = exitInterrupted, "cancelled"
	}
	f.err = errors.New("the run " + endedAs(run.Outcome.Kind))
	if why := circumstance(run); why != "" {
		f.err = fmt.Errorf("%w: %s", f.err, why)
	}
	return f
}
