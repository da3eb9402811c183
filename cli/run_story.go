package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
)

// story is what the log of a thread tells of one of its runs.
type story struct {
	run    *selvage.Run
	turns  []turnDocument
	calls  []callDocument
	limits []decidedCall            // what was decided about limits
	raised string                   // the ticket of the limit that it waited at last
	index  map[string]int           // of calls, by id
	kept   map[string]*selvage.Call // the journal, by id
	booked turnSpending             // what the run had used by the last change read
	beside turnSpending             // what attempts cost that came to no answer
}

// turnSpending is what was used, and what it cost.
type turnSpending struct {
	Usage selvage.Usage `json:"usage"`
	Cost  selvage.Money `json:"cost"`
}

// turnDocument is an answer of the model in JSON. What it cost is the
// difference to what was booked before it; answers that were recorded in one
// change are counted with the last of them.
type turnDocument struct {
	Turn      int             `json:"turn"`
	Version   selvage.Version `json:"version"`
	At        time.Time       `json:"at"`
	MessageID string          `json:"message_id"`
	Text      string          `json:"text"`
	Calls     []string        `json:"calls,omitempty"` // ids
	turnSpending
}

// callDocument is a tool call of a run in JSON.
type callDocument struct {
	ID        string             `json:"id"`
	Name      string             `json:"name"`
	Turn      int                `json:"turn,omitempty"`
	Arguments json.RawMessage    `json:"arguments,omitempty"` // as the model wrote them
	Effect    selvage.Effect     `json:"effect,omitempty"`
	Status    selvage.CallStatus `json:"status,omitempty"` // absent: neither journalled nor answered
	// The rest is there for calls that it happened to.
	IdempotencyKey string          `json:"idempotency_key,omitempty"`
	Ticket         string          `json:"ticket,omitempty"`
	Suspension     json.RawMessage `json:"suspension,omitempty"`
	Decision       json.RawMessage `json:"decision,omitempty"`
	Used           json.RawMessage `json:"used_arguments,omitempty"` // those of a decision, in place of the model's
	Result         *string         `json:"result,omitempty"`
	Begun          time.Time       `json:"begun_at,omitzero"` // journalled first
	Ended          time.Time       `json:"ended_at,omitzero"`
}

// tellStory reads what the log tells of a run.
func tellStory(ctx context.Context, store selvage.Store, run *selvage.Run) (*story, error) {
	changes, err := changesOf(ctx, store, run)
	if err != nil {
		return nil, err
	}
	s := &story{run: run, turns: []turnDocument{}, calls: []callDocument{}, index: make(map[string]int), kept: make(map[string]*selvage.Call)}
	for i := range changes {
		if err := s.read(&changes[i]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// changesOf returns the changes of a thread from the one that created a run on
// to the one that ended it, or the last one, oldest first. It reads the log from
// its end, as runs that are looked at are mostly recent.
func changesOf(ctx context.Context, store selvage.Store, run *selvage.Run) ([]selvage.Change, error) {
	var changes []selvage.Change
	limit := selvage.MaxPage
	q := selvage.ChangeQuery{Order: selvage.Descending, Limit: &limit}
	for {
		page, err := store.Changes(ctx, run.ThreadID, q)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			about, created, ended, err := aboutRun(&page.Items[i], run.ID)
			if err != nil {
				return nil, err
			}
			if ended {
				changes = changes[:0] // those after it are of other runs
			}
			if about || len(changes) > 0 || run.Status != selvage.RunDone {
				changes = append(changes, page.Items[i])
			}
			if created {
				slices.Reverse(changes)
				return changes, nil
			}
		}
		if q.Cursor = page.Next; page.Next == "" {
			slices.Reverse(changes)
			return changes, nil
		}
	}
}

// aboutRun reports whether a change says something of a run, creates it, ends
// it.
func aboutRun(c *selvage.Change, id selvage.RunID) (about, created, ended bool, err error) {
	about = c.RunID == id
	if !about && len(c.Rest) <= len("{}") {
		return false, false, false, nil
	}
	var rest struct {
		Runs []selvage.RunUpdate `json:"runs"`
	}
	if err := json.Unmarshal(c.Rest, &rest); err != nil {
		return false, false, false, err
	}
	for i := range rest.Runs {
		if u := &rest.Runs[i]; u.ID == id {
			about, created, ended = true, created || u.Spec != nil, ended || u.Status == selvage.RunDone
		}
	}
	return about, created, ended, nil
}

// read adds what one change tells.
func (s *story) read(c *selvage.Change) error {
	set, err := c.Set()
	if err != nil {
		return err
	}
	messages, err := c.AddedMessages()
	if err != nil {
		return err
	}
	turns := len(s.turns)
	for i := range messages {
		if messages[i].RunID == s.run.ID {
			s.message(c, &messages[i])
		}
	}
	for i := range set.Calls {
		if err := s.journal(c, &set.Calls[i]); err != nil {
			return err
		}
	}
	if d := runner.RequestedDecision(&set, s.raised); d != nil && s.raised != "" {
		s.limits = append(s.limits, decidedCall{Status: runner.AlreadyDecided, Ticket: s.raised, Decision: *d})
	}
	for i := range set.Runs {
		if u := &set.Runs[i]; u.ID == s.run.ID && u.Waiting != nil && u.Waiting.Escalation.Ticket != "" {
			s.raised = u.Waiting.Escalation.Ticket
		}
		if u := &set.Runs[i]; u.ID == s.run.ID && u.Usage != nil && u.Cost != nil {
			s.book(turnSpending{*u.Usage, *u.Cost}, len(s.turns) > turns)
		}
	}
	return nil
}

func (s *story) message(c *selvage.Change, m *selvage.Message) {
	switch {
	case m.Role == selvage.RoleAssistant && !m.Internal() && m.Step > 0:
		turn := turnDocument{Turn: m.Step, Version: c.Version, At: c.At, MessageID: m.ID, Text: m.Text()}
		for _, call := range m.ToolCalls {
			turn.Calls = append(turn.Calls, call.ID)
			s.index[call.ID] = len(s.calls)
			s.calls = append(s.calls, callDocument{ID: call.ID, Name: call.Name, Turn: m.Step, Arguments: call.Arguments, Effect: s.effect(call.Name)})
		}
		s.turns = append(s.turns, turn)
	case m.Role == selvage.RoleTool:
		i, known := s.index[m.ToolCallID]
		if !known {
			return
		}
		text := m.Text()
		s.calls[i].Result, s.calls[i].Ended = &text, c.At
		if s.calls[i].Status == "" { // it was not journalled
			s.calls[i].Status = selvage.CallSucceeded
			if string(m.Metadata[runner.MetadataFailed]) == "true" {
				s.calls[i].Status = selvage.CallFailed
			}
		}
	}
}

// effect is what the run recorded about a tool.
func (s *story) effect(tool string) selvage.Effect {
	if s.run.Spec != nil {
		for i := range s.run.Spec.Tools {
			if use := &s.run.Spec.Tools[i]; use.Name == tool {
				return use.Effect
			}
		}
	}
	return ""
}

// journal adds what a change journals about a call.
func (s *story) journal(c *selvage.Change, u *selvage.CallUpdate) error {
	i, known := s.index[u.CallID]
	if !known {
		if c.RunID != s.run.ID {
			return nil
		}
		i = len(s.calls)
		s.index[u.CallID] = i
		s.calls = append(s.calls, callDocument{ID: u.CallID})
	}
	call, err := u.Apply(s.kept[u.CallID], s.run.ThreadID, c.RunID, c.At)
	if err != nil {
		return fmt.Errorf("version %d: %w", c.Version, err)
	}
	s.kept[u.CallID] = call
	d := &s.calls[i]
	d.Name, d.Effect, d.Status, d.Begun = cmp.Or(call.Name, d.Name), cmp.Or(call.Effect, d.Effect), call.Status, call.CreatedAt
	d.IdempotencyKey, d.Ticket, d.Suspension, d.Decision = call.IdempotencyKey, call.Ticket, call.Suspension, call.Decision
	if call.Status.Terminal() {
		d.Ended = c.At
	}
	if u.Decision != nil {
		if was := d.decided(); was != nil && was.Arguments != nil {
			d.Used = was.Arguments
		}
	}
	return nil
}

// decided is the decision that the call goes on, or went on, by; nil if there is
// none.
func (d *callDocument) decided() *selvage.Decision {
	var decision selvage.Decision
	if d.Decision == nil || json.Unmarshal(d.Decision, &decision) != nil {
		return nil
	}
	return &decision
}

// used is what the call was run with, or is to be.
func (d *callDocument) used() json.RawMessage {
	if d.Used != nil {
		return d.Used
	}
	return d.Arguments
}

// book counts what was used since the change before: with the turn that was
// recorded last, if there is a new one.
func (s *story) book(total turnSpending, answered bool) {
	spent := turnSpending{minus(total.Usage, s.booked.Usage), total.Cost - s.booked.Cost}
	s.booked = total
	if answered {
		s.turns[len(s.turns)-1].turnSpending = spent
		return
	}
	s.beside.Usage, s.beside.Cost = s.beside.Usage.Add(spent.Usage), s.beside.Cost+spent.Cost
}

func minus(u, v selvage.Usage) selvage.Usage {
	return selvage.Usage{InputTokens: u.InputTokens - v.InputTokens, OutputTokens: u.OutputTokens - v.OutputTokens,
		CachedTokens: u.CachedTokens - v.CachedTokens, CacheWriteTokens: u.CacheWriteTokens - v.CacheWriteTokens, ReasoningTokens: u.ReasoningTokens - v.ReasoningTokens}
}

// callNames are the tools that a turn called.
func (s *story) callNames(t *turnDocument) string {
	names := make([]string, len(t.Calls))
	for i, id := range t.Calls {
		names[i] = s.calls[s.index[id]].Name
	}
	return strings.Join(names, ", ")
}
