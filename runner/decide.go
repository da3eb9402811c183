package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/selvagehq/selvage"
)

// DecidedStatus is what became of a decision.
type DecidedStatus string

// The statuses.
const (
	Recorded       DecidedStatus = "recorded"        // it counts
	Repeated       DecidedStatus = "repeated"        // it was recorded before, under the same id
	AlreadyDecided DecidedStatus = "already_decided" // another counts, which was faster
	Buffered       DecidedStatus = "buffered"        // nothing asks for it yet; it counts when something does
)

// Decided is the answer to a decision.
type Decided struct {
	Status   DecidedStatus
	ThreadID selvage.ThreadID
	RunID    selvage.RunID
	CallID   string // the call it is about; empty if it was buffered, or is about a limit
	Ticket   string // the ticket it answers; empty if it was buffered
	// Decision is the one that counts.
	Decision selvage.Decision
	// Run is where the run stood when this was found out.
	Run selvage.RunStatus
}

// String tells it in one line.
func (d Decided) String() string {
	by, what := "", "call "+d.CallID
	if d.Decision.By != "" {
		by = " by " + d.Decision.By
	}
	if d.CallID == "" {
		what = "ticket " + d.Ticket
	}
	switch d.Status {
	case Recorded:
		return fmt.Sprintf("%s of %s is recorded", d.Decision.Action, what)
	case Repeated:
		return fmt.Sprintf("this decision was recorded before: %s of %s", d.Decision.Action, what)
	case Buffered:
		return fmt.Sprintf("nothing asks for this yet: %s is recorded for when something does", d.Decision.Action)
	default:
		return fmt.Sprintf("%s was already decided%s: %s", what, by, d.Decision.Action)
	}
}

// Decide records a decision about a suspended call of an open run. It needs
// neither model nor tools, and works whether or not a process leads the run.
// The target is the id of a ticket or of a call; empty is the only call that
// waits, or the limit that the run waits at if none does. What is not asked for
// yet is kept until it is.
//
// A decision is recorded once: that of an id which was recorded before, and any
// about a call that was decided, changes nothing and is told so in the answer.
// Of two that race one is recorded. An abort ends a run that waits as cancelled
// at once; one that is led ends where it is. Any other decision takes effect
// where the run is led, or with the next [Runner.Resume] or [Runner.Recover].
//
// The error matches [selvage.ErrInvalid] for a decision that cannot be or does
// not satisfy the schema of its ticket, and is a [DoneError] for one about a
// run that is done without having been asked; [selvage.ErrNotFound] is a run
// that does not exist. Nothing was recorded then.
func Decide(ctx context.Context, store selvage.Store, id selvage.RunID, d selvage.Decision, target string) (Decided, error) {
	if err := completeDecision(&d); err != nil {
		return Decided{}, err
	}
	if target != "" {
		if err := selvage.CheckID("ticket", target); err != nil {
			return Decided{}, err
		}
	}
	o, err := find(ctx, store, id)
	if err != nil {
		return Decided{}, err
	}
	if d.Action == selvage.DecisionAbort && o.info.Status.Open() {
		// If nobody leads the run, nobody else would end it.
		release, _, err := o.claim(ctx)
		if err != nil {
			return Decided{}, fmt.Errorf("decide on run %s: %w", id, err)
		}
		if release != nil {
			defer release()
		}
	}
	var answer Decided
	err = o.amend(ctx, func(ctx context.Context) (*selvage.ChangeSet, error) {
		answer = Decided{ThreadID: o.thread, RunID: id, Decision: d, Run: o.info.Status}
		return o.decide(ctx, d, target, &answer)
	})
	var done *DoneError
	if errors.As(err, &done) {
		return o.decidedBefore(ctx, d, target, done)
	}
	if err != nil {
		return Decided{}, fmt.Errorf("decide on run %s: %w", id, err)
	}
	if answer.Run == selvage.RunDone {
		aftermath(ctx, store, id, o.log)
	}
	return answer, nil
}

// decide makes the change that records a decision, or answers why there is
// none to make.
func (o *outsider) decide(ctx context.Context, d selvage.Decision, target string, answer *Decided) (*selvage.ChangeSet, error) {
	for i := range o.head.OpenCalls {
		c := &o.head.OpenCalls[i]
		if past, err := c.Decided(); err == nil && past != nil && past.ID == d.ID && c.RunID == o.id {
			answer.CallID, answer.Ticket = c.ID, c.Ticket
			answer.known(*past, d.ID)
			return nil, nil
		}
	}
	limit := o.escalates(target)
	if (limit || target == "") && o.repeated(d.ID, answer) {
		return nil, nil
	}
	if limit {
		return o.decideLimit(ctx, d, answer)
	}
	call, ticket, err := o.target(target)
	switch {
	case err != nil:
		return nil, err
	case call == nil:
		before, err := o.past(ctx)
		if err != nil || before.find(d, target, answer) {
			return nil, err
		}
		if status := before.ended[target]; status != "" {
			return nil, &selvage.InvalidError{Field: "ticket", Reason: fmt.Sprintf("call %s has ended: it %s", target, status)}
		}
		return o.buffer(d, target, answer)
	}
	answer.CallID, answer.Ticket = call.ID, call.Ticket
	if past, err := call.Decided(); err != nil {
		return nil, err
	} else if past != nil && ticket == nil {
		answer.known(*past, d.ID)
		return nil, nil
	}
	if ticket == nil { // it runs unasked, or is about to
		return o.buffer(d, target, answer)
	}
	if err := checkDecision(&d, ticket); err != nil {
		return nil, err
	}
	record, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	answer.Status = Recorded
	if d.Action == selvage.DecisionAbort && (o.info.Status == selvage.RunWaiting || o.fence != nil) {
		answer.Run = selvage.RunDone
		set, err := o.closing(ctx, denial(&d))
		if err != nil {
			return nil, err
		}
		for i := range set.Calls {
			if set.Calls[i].CallID == call.ID {
				set.Calls[i].Decision = record
			}
		}
		return set, nil
	}
	return &selvage.ChangeSet{Calls: []selvage.CallUpdate{{CallID: call.ID, Status: selvage.CallResuming, Decision: record}}}, nil
}

// known answers with a decision that was recorded before.
func (d *Decided) known(past selvage.Decision, id string) {
	d.Status, d.Decision = AlreadyDecided, past
	if past.ID == id {
		d.Status = Repeated
	}
}

// target finds the open call that a decision is about, and its ticket if it
// waits. It returns no call if there is none yet.
func (o *outsider) target(target string) (*selvage.Call, *selvage.Ticket, error) {
	var waiting, decided []*selvage.Call
	for i := range o.head.OpenCalls {
		c := &o.head.OpenCalls[i]
		if c.RunID != o.id {
			continue
		}
		if target != "" && (c.ID == target || c.Ticket == target) {
			ticket, err := c.Asks()
			return c, ticket, err
		}
		if c.Status == selvage.CallSuspended {
			waiting = append(waiting, c)
		} else if c.Decision != nil {
			decided = append(decided, c)
		}
	}
	if target != "" {
		return nil, nil, nil
	}
	switch {
	case len(waiting) == 0 && len(decided) == 1:
		return decided[0], nil, nil
	case len(waiting) == 0:
		return nil, nil, &selvage.InvalidError{Field: "ticket", Reason: fmt.Sprintf("no call of run %s waits for a decision", o.id)}
	case len(waiting) == 1:
		ticket, err := waiting[0].Asks()
		return waiting[0], ticket, err
	}
	var names []string
	for _, c := range waiting {
		names = append(names, fmt.Sprintf("%s (%s)", c.Ticket, c.Name))
	}
	return nil, nil, &selvage.InvalidError{Field: "ticket", Reason: fmt.Sprintf("%d calls wait for a decision, name one of them: %s", len(waiting), strings.Join(names, ", "))}
}

// buffer keeps a decision that nothing asks for yet.
func (o *outsider) buffer(d selvage.Decision, target string, answer *Decided) (*selvage.ChangeSet, error) {
	at := decisionAt(target)
	past, taken, err := asked[selvage.Decision](o.base, at)
	if err != nil {
		return nil, err
	}
	if taken {
		answer.known(past, d.ID)
		return nil, nil
	}
	answer.Status, answer.CallID, answer.Ticket = Buffered, "", ""
	patches, err := request(at, d)
	if err != nil {
		return nil, err
	}
	return &selvage.ChangeSet{Patches: patches}, nil
}
