package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/selvagehq/selvage"
)

// FindRun returns a run by its id. The error matches [selvage.ErrNotFound] if
// the store has none of that id.
func FindRun(ctx context.Context, store selvage.Store, id selvage.RunID) (selvage.Run, error) {
	if err := selvage.CheckID("run", string(id)); err != nil {
		return selvage.Run{}, err
	}
	one := 1
	page, err := store.Runs(ctx, selvage.RunQuery{ID: id, Limit: &one})
	if err != nil {
		return selvage.Run{}, fmt.Errorf("find run %q: %w", id, err)
	}
	if len(page.Items) == 0 {
		return selvage.Run{}, fmt.Errorf("there is no run %q: %w", id, selvage.ErrNotFound)
	}
	return page.Items[0], nil
}

// DoneError reports that something was asked of a run that is done. It matches
// [selvage.ErrInvalid]; nothing was changed.
type DoneError struct {
	ThreadID selvage.ThreadID
	RunID    selvage.RunID
	Outcome  selvage.Outcome
}

func (e *DoneError) Error() string {
	text := fmt.Sprintf("run %s is done: %s", e.RunID, e.Outcome.Kind)
	if e.Outcome.Code != "" {
		text += " (" + e.Outcome.Code + ")"
	}
	return text
}

// Is reports whether target is [selvage.ErrInvalid].
func (e *DoneError) Is(target error) bool { return target == selvage.ErrInvalid }

// over is the error for a run that is done.
func over(run *selvage.Run) error {
	e := &DoneError{ThreadID: run.ThreadID, RunID: run.ID}
	if run.Outcome != nil {
		e.Outcome = *run.Outcome
	}
	return e
}

// outsider is a run seen from a process that does not lead it.
type outsider struct {
	run
	info selvage.Run
	head selvage.Head
}

// find looks for a run to change from outside.
func find(ctx context.Context, store selvage.Store, id selvage.RunID) (*outsider, error) {
	info, err := FindRun(ctx, store, id)
	if err != nil {
		return nil, err
	}
	streams, _ := selvage.As[selvage.StreamCheckpoints](store)
	return &outsider{info: info, run: run{id: id, streams: streams, ledger: ledger{store: store, thread: info.ThreadID, patience: checkpointTimeout,
		keep: selvage.DefaultWindow, log: slog.New(slog.DiscardHandler)}}}, nil
}

// amend changes an open run from outside, again whenever somebody else was
// faster. The change is made of the run as it stands; none means that there is
// nothing to do. The error is a [DoneError] if the run is done.
func (o *outsider) amend(ctx context.Context, change func(ctx context.Context) (*selvage.ChangeSet, error)) error {
	var err error
	for range rebases {
		if err = o.look(ctx); err != nil {
			return err
		}
		judged := o.version
		var set *selvage.ChangeSet
		if set, err = change(ctx); err != nil || set == nil {
			return err
		}
		if o.version != judged { // it looked again, and what it had judged before may be otherwise now
			err = fmt.Errorf("run %s changed while it was looked at: %w", o.id, selvage.ErrConflict)
			continue
		}
		set.ID, set.RunID, set.ParentRunID, set.Reason, set.Fence = selvage.NewID(), o.id, o.info.ParentRunID, selvage.ReasonDecision, o.fence
		if _, err = o.send(ctx, set, selvage.Exact(o.version), false); err == nil || !errors.Is(err, selvage.ErrConflict) {
			return err
		}
	}
	return err
}

// look loads the thread and the open run as they stand.
func (o *outsider) look(ctx context.Context) error {
	none := 0
	head, err := o.store.Load(ctx, o.thread, selvage.LoadOptions{Messages: &none})
	if err != nil {
		return err
	}
	o.load(&head)
	o.head = head
	if head.OpenRun == nil || head.OpenRun.ID != o.id {
		if o.info, err = FindRun(ctx, o.store, o.id); err != nil {
			return err
		}
		return over(&o.info)
	}
	o.info = *head.OpenRun
	return nil
}

// Question is a call that waits, and what for.
type Question struct {
	Call   selvage.ToolCall
	Ticket selvage.Ticket
}

// Questions returns what an open run waits for, in the order in which it was
// asked. A run that is done waits for nothing.
func Questions(ctx context.Context, store selvage.Store, id selvage.RunID) ([]Question, error) {
	o, err := find(ctx, store, id)
	if err != nil {
		return nil, err
	}
	var done *DoneError
	if err := o.look(ctx); errors.As(err, &done) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	head, err := o.fetch(ctx)
	if err != nil {
		return nil, err
	}
	return questions(o.window, head.OpenCalls, id)
}

// questions pairs the tickets of a run's suspended calls with what was called,
// as far as that is among messages.
func questions(messages []selvage.Message, calls []selvage.Call, run selvage.RunID) ([]Question, error) {
	var all []Question
	for i := range calls {
		if calls[i].RunID != run {
			continue
		}
		ticket, err := calls[i].Asks()
		if err != nil {
			return nil, err
		}
		if ticket == nil {
			continue
		}
		q := Question{Call: selvage.ToolCall{ID: calls[i].ID, Name: calls[i].Name}, Ticket: *ticket}
		if at := callOf(messages, q.Call.ID); at >= 0 {
			for _, c := range messages[at].ToolCalls {
				if c.ID == q.Call.ID {
					q.Call = c
				}
			}
		}
		all = append(all, q)
	}
	return all, nil
}
