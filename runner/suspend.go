package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/tool"
)

// maxTicketBytes bounds the ticket of a suspended call, in bytes of JSON: it
// is part of the head of its thread while the call waits.
const maxTicketBytes = 64 << 10

// maxArgumentsSchema bounds the schema of a tool in a ticket, in bytes of JSON.
// Arguments for one that is longer are checked when the call goes on.
const maxArgumentsSchema = 16 << 10

// suspension returns the ticket of an error with which a tool makes its call
// wait, or nil.
func suspension(err error) *selvage.Ticket {
	var suspended *tool.Suspended
	if !errors.As(err, &suspended) {
		return nil
	}
	ticket := suspended.Ticket
	return &ticket
}

// suspend makes a call wait for a decision. A ticket that cannot be makes it
// fail.
func (x *run) suspend(t *task, ticket selvage.Ticket) {
	ticket.ArgumentsSchema = nil
	if t.bound != nil && ticket.Child == nil {
		ticket.ArgumentsSchema = portable(t.bound.Spec().Parameters)
	}
	record, err := completeTicket(&ticket)
	if err == nil && x.stateless {
		err = errors.New("it needs a decision, and nobody can be asked in a run of which nothing is kept")
	}
	if err != nil {
		x.conclude(t, *failed(fmt.Errorf("%s: %w", t.call.Name, err)))
		return
	}
	u := selvage.CallUpdate{CallID: t.call.ID, Name: t.call.Name, Status: selvage.CallSuspended, IdempotencyKey: t.call.ID,
		Ticket: ticket.ID, Suspension: record}
	if t.bound != nil {
		u.Effect = t.bound.Spec().Effect
	}
	x.journal(u)
	if t.edited {
		if v, err := state.ParseValue(t.call.Arguments); err == nil {
			_ = x.patch(sourceStep, state.Patch{state.Set(argumentsAt(t.call.ID), v)}) // a place of its own
		}
	}
}

// portable is the schema of a tool as a ticket takes it along; nil if it is too
// long.
func portable(schema json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, schema) != nil || b.Len() > maxArgumentsSchema {
		return nil
	}
	return b.Bytes()
}

// completeTicket fills in what a ticket leaves out, or says why it cannot be.
func completeTicket(t *selvage.Ticket) (json.RawMessage, error) {
	if t.ID == "" {
		t.ID = selvage.NewID()
	}
	if t.Reason == "" {
		t.Reason = selvage.WaitApproval
	}
	if t.Mode == "" {
		t.Mode = selvage.ResumeReplay
	}
	t.Message = strings.ToValidUTF8(t.Message, "\uFFFD")
	if t.Until != nil {
		until := t.Until.UTC().Truncate(selvage.TimePrecision)
		t.Until = &until
	}
	if err := selvage.CheckID("ticket", t.ID); err != nil {
		return nil, fmt.Errorf("its ticket cannot be: %w", err)
	}
	if modes := []selvage.ResumeMode{selvage.ResumeReplay, selvage.ResumeResult, selvage.ResumeArguments}; !slices.Contains(modes, t.Mode) {
		return nil, fmt.Errorf("its ticket cannot be: %q is not a way to go on", t.Mode)
	}
	if len(t.Schema) > 0 {
		if err := tool.CheckSchema(t.Schema); err != nil {
			return nil, fmt.Errorf("its ticket cannot be: %w", err)
		}
	}
	record, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("its ticket cannot be: %w", err)
	}
	if len(record) > maxTicketBytes && t.ArgumentsSchema != nil {
		t.ArgumentsSchema = nil // what the tool says of its question goes before it
		return completeTicket(t)
	}
	if len(record) > maxTicketBytes {
		return nil, fmt.Errorf("its ticket takes %d bytes, and at most %d are kept", len(record), maxTicketBytes)
	}
	return record, nil
}

// arrive takes up for the suspended calls what has come for them without being
// recorded with them: decisions that were early, signals, and their time.
//
// What comes for a call that is recorded as suspended is recorded before
// anything is done about it: another could decide on it otherwise.
func (x *run) arrive(ctx context.Context, open []openCall) error {
	race := false
	x.arrived = make(map[string]state.Patch)
	for i := range open {
		c := x.journalled(open[i].call.ID)
		if c == nil || c.Status != selvage.CallSuspended {
			continue
		}
		ticket, err := c.Asks()
		if err != nil {
			return err
		}
		decision, used, ok, err := arrived(x.doc, c.ID, ticket, x.r.opts.Now())
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if err := x.patch(sourceRequest, used); err != nil {
			return err
		}
		u := selvage.CallUpdate{CallID: c.ID, Status: selvage.CallResuming}
		if u.Decision, err = json.Marshal(decision); err != nil {
			return err
		}
		x.journal(u)
		x.arrived[c.ID] = used
		race = race || x.calls[c.ID] != nil && x.calls[c.ID].Status == selvage.CallSuspended
	}
	if race {
		if err := x.checkpoint(ctx, checkpoint{reason: selvage.ReasonDecision}); err != nil {
			return err
		}
	}
	x.arrived = nil
	return nil
}

// outdone takes back what has arrived for calls that somebody else has decided
// on meanwhile, in a change that is recorded.
func (x *run) outdone(set *selvage.ChangeSet) {
	for i := range set.Calls {
		u := &set.Calls[i]
		used, ok := x.arrived[u.CallID]
		if u.Decision == nil || !ok {
			continue
		}
		delete(x.arrived, u.CallID)
		x.pending.calls = slices.DeleteFunc(x.pending.calls, func(p selvage.CallUpdate) bool { return p.CallID == u.CallID && p.Decision != nil })
		x.pending.patches = slices.DeleteFunc(x.pending.patches, func(p selvage.StatePatch) bool {
			return p.Source == sourceRequest && len(used) == 1 && len(p.Ops) == 1 && p.Ops[0].Path == used[0].Path
		})
	}
}

// arrived finds what lets a suspended call go on: the decision, and the patch
// that takes it away from where it waited.
func arrived(doc state.Document, callID string, t *selvage.Ticket, now time.Time) (d selvage.Decision, used state.Patch, ok bool, err error) {
	for _, target := range [...]string{t.ID, callID} {
		early, found, err := asked[selvage.Decision](doc, decisionAt(target))
		if err != nil {
			return d, nil, false, err
		}
		if found && checkDecision(&early, t) == nil {
			return early, state.Patch{state.Delete(decisionAt(target))}, true, nil
		}
	}
	if t.Signal != "" {
		if id, payload, found := firstSignal(doc, t.Signal); found {
			d := selvage.Decision{ID: id, Action: selvage.DecisionResume, By: "signal " + t.Signal, At: now.UTC().Truncate(selvage.TimePrecision)}
			switch t.Mode {
			case selvage.ResumeResult:
				d.Result = payload
			case selvage.ResumeArguments:
				d.Arguments = payload
			default:
				return d, nil, true, nil // the tool takes it itself; see [Await]
			}
			return d, state.Patch{state.Delete(signalsAt(t.Signal).Join(id))}, true, nil
		}
	}
	if t.Until != nil && !now.Before(*t.Until) {
		return selvage.Decision{ID: "until " + t.ID, Action: selvage.DecisionResume, By: "clock", At: now.UTC().Truncate(selvage.TimePrecision)}, nil, true, nil
	}
	return d, nil, false, nil
}

// firstSignal returns the oldest signal of a name that nobody has taken.
func firstSignal(doc state.Document, name string) (id string, payload json.RawMessage, ok bool) {
	all, _ := doc.Get(signalsAt(name))
	keys := all.Keys()
	if len(keys) == 0 {
		return "", nil, false
	}
	id = slices.Min(keys)
	v, _ := all.Field(id)
	return id, v.AppendJSON(nil), true
}

// ripe reports whether an open run can go on: whether something has come for
// one of its calls, its time has, its limit was raised, or its end was asked
// for.
func ripe(run *selvage.Run, doc state.Document, calls []selvage.Call, now time.Time) (bool, error) {
	if run.Status != selvage.RunWaiting || endRequested(doc, calls) != nil {
		return true, nil
	}
	if w := run.Waiting; w != nil && w.LimitCode != "" {
		if raises, err := approved(w, doc); err != nil || len(raises) > 0 || w.Reason == selvage.WaitLimit {
			return len(raises) > 0, err
		}
		if enough, err := freed(run, doc); err != nil || enough {
			return enough, err
		}
	}
	mine := slices.DeleteFunc(slices.Clone(calls), func(c selvage.Call) bool { return c.RunID != run.ID })
	if len(mine) == 0 {
		return run.Waiting == nil || run.Waiting.Until != nil && !now.Before(*run.Waiting.Until), nil
	}
	waiting, going := 0, 0
	for i := range mine {
		ticket, err := mine[i].Asks()
		if err != nil {
			return false, err
		}
		if ticket != nil {
			_, _, ok, err := arrived(doc, mine[i].ID, ticket, now)
			if err != nil {
				return false, err
			}
			if !ok {
				waiting++
				continue
			}
		} else if mine[i].Status == selvage.CallResuming && mine[i].Decision == nil && mine[i].Ticket == "" {
			continue // behind one that is suspended
		}
		going++
	}
	batch := run.Spec != nil && run.Spec.ToolCalls == selvage.ToolCallsBatch
	return waiting == 0 || going > 0 && !batch, nil
}
