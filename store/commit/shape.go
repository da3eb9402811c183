package commit

import (
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/text/unicode/norm"

	"github.com/selvagehq/selvage"
)

// checkID adds the rule that the root cannot check: ids are in Unicode
// normal form C, so that two that look alike are alike.
func checkID(kind, id string) error {
	if err := selvage.CheckID(kind, id); err != nil {
		return err
	}
	if !norm.NFC.IsNormalString(id) {
		return &selvage.InvalidError{Field: kind, Reason: fmt.Sprintf("%q is not in Unicode normal form C; write it as %q", id, norm.NFC.String(id))}
	}
	return nil
}

// CheckThreadID returns nil if id may name a thread, for a store's writes that
// are no appends. The error matches [selvage.ErrInvalid].
func CheckThreadID(id selvage.ThreadID) error { return checkID("thread", string(id)) }

// CheckTenant returns nil if name may name a tenant. The error matches
// [selvage.ErrInvalid].
func CheckTenant(name string) error { return checkID("tenant", name) }

type rawJSON = json.RawMessage

func invalid(field, format string, args ...any) error {
	return &selvage.InvalidError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// checkShape checks what can be checked without the thread.
func checkShape(set *selvage.ChangeSet) error {
	if err := selvage.CheckReason(set.Reason); err != nil {
		return err
	}
	if set.Snapshot != nil && len(set.Patches) > 0 {
		return invalid("snapshot", "a change set carries a snapshot or patches, not both: the snapshot would already hold them")
	}
	if len(set.Dispatches) > 0 {
		return fmt.Errorf("dispatches are not offered by this store yet: %w", selvage.ErrUnsupported)
	}
	if err := checkOutbox(set.Outbox); err != nil {
		return err
	}
	if err := checkRewind(set); err != nil {
		return err
	}
	if set.Fork != nil {
		return invalid("fork", "only a fork says what it was forked from; make one")
	}
	for _, id := range []struct{ kind, id string }{{"run", string(set.RunID)}, {"parent run", string(set.ParentRunID)}} {
		if id.id == "" {
			continue
		}
		if err := checkID(id.kind, id.id); err != nil {
			return err
		}
	}
	for i := range set.Messages {
		if err := checkMessage(fmt.Sprintf("messages[%d]", i), &set.Messages[i]); err != nil {
			return err
		}
	}
	for i := range set.Runs {
		if err := checkRun(fmt.Sprintf("runs[%d]", i), &set.Runs[i]); err != nil {
			return err
		}
	}
	for i := range set.Calls {
		if err := checkCall(fmt.Sprintf("calls[%d]", i), &set.Calls[i]); err != nil {
			return err
		}
	}
	for i, e := range set.Events {
		field := fmt.Sprintf("events[%d]", i)
		if e.Kind == "" {
			return invalid(field+".kind", "an event needs a kind")
		}
		if err := errors.Join(checkText(field+".kind", string(e.Kind)), checkRaw(field+".payload", e.Payload)); err != nil {
			return err
		}
	}
	for i, patch := range set.Patches {
		if err := checkText(fmt.Sprintf("patches[%d].source", i), patch.Source); err != nil {
			return err
		}
	}
	return checkThreadUpdate(set.Thread)
}

func checkMessage(field string, m *selvage.Message) error {
	if m.ID != "" {
		if err := checkID(field+".id", m.ID); err != nil {
			return err
		}
	}
	if m.RunID != "" {
		if err := checkID(field+".run_id", string(m.RunID)); err != nil {
			return err
		}
	}
	switch m.Role {
	case selvage.RoleSystem, selvage.RoleUser, selvage.RoleAssistant, selvage.RoleTool:
	default:
		return invalid(field+".role", "%q is not a role; use system, user, assistant or tool", m.Role)
	}
	switch m.Visibility {
	case "", selvage.VisibleAll, selvage.VisibleInternal:
	default:
		return invalid(field+".visibility", "%q is not a visibility; use all or internal", m.Visibility)
	}
	if m.Erased {
		return invalid(field+".erased", "only a store says that a message was erased; see erase")
	}
	if m.Step < 0 {
		return invalid(field+".step", "a step may not be negative")
	}
	if err := checkMetadata(field+".metadata", m.Metadata); err != nil {
		return err
	}
	if err := checkToolFields(field, m); err != nil {
		return err
	}
	for i := range m.Content {
		if err := checkPart(fmt.Sprintf("%s.content[%d]", field, i), &m.Content[i]); err != nil {
			return err
		}
	}
	return nil
}

func checkToolFields(field string, m *selvage.Message) error {
	switch {
	case m.Role == selvage.RoleTool && m.ToolCallID == "":
		return invalid(field+".tool_call_id", "a tool message names the call it answers")
	case m.Role != selvage.RoleTool && m.ToolCallID != "":
		return invalid(field+".tool_call_id", "only a tool message answers a call, this one is from %s", m.Role)
	case m.Role != selvage.RoleAssistant && len(m.ToolCalls) > 0:
		return invalid(field+".tool_calls", "only an assistant message calls tools, this one is from %s", m.Role)
	}
	if m.ToolCallID != "" {
		if err := checkID(field+".tool_call_id", m.ToolCallID); err != nil {
			return err
		}
	}
	seen := make(map[string]bool, len(m.ToolCalls))
	for i, c := range m.ToolCalls {
		at := fmt.Sprintf("%s.tool_calls[%d]", field, i)
		if err := checkID(at+".id", c.ID); err != nil {
			return err
		}
		if c.Name == "" {
			return invalid(at+".name", "a tool call names its tool")
		}
		if err := errors.Join(checkText(at+".name", c.Name), checkRaw(at+".arguments", c.Arguments)); err != nil {
			return err
		}
		if seen[c.ID] {
			return invalid(at+".id", "%q is already the id of another call of this message", c.ID)
		}
		seen[c.ID] = true
	}
	return nil
}

func checkPart(field string, p *selvage.Part) error {
	if err := errors.Join(checkText(field, p.Text, p.MediaType, p.Name, p.Blob, p.Signature), checkRaw(field+".value", p.Value)); err != nil {
		return err
	}
	switch p.Type {
	case selvage.PartText, selvage.PartReasoning:
	case selvage.PartImage, selvage.PartFile:
		if err := checkBlob(field+".blob", p.Blob); err != nil {
			return err
		}
		if (len(p.Data) == 0) == (p.Blob == "") {
			return invalid(field, "an %s part has either data or a blob", p.Type)
		}
	case selvage.PartData:
		if len(p.Value) == 0 {
			return invalid(field+".value", "a data part has a value")
		}
	default:
		return invalid(field+".type", "%q is not a kind of content; use text, image, file, reasoning or data", p.Type)
	}
	return nil
}

func checkRun(field string, u *selvage.RunUpdate) error {
	if err := checkID(field+".id", string(u.ID)); err != nil {
		return err
	}
	if err := errors.Join(checkLine(field+".agent_id", u.AgentID), checkSpec(field+".spec", u.Spec)); err != nil {
		return err
	}
	if u.ParentRunID != "" {
		if err := checkID(field+".parent_run_id", string(u.ParentRunID)); err != nil {
			return err
		}
	}
	switch u.Status {
	case selvage.RunCreated, selvage.RunRunning, selvage.RunWaiting, selvage.RunDone:
	default:
		return invalid(field+".status", "%q is not a run status; use created, running, waiting or done", u.Status)
	}
	if (u.Status == selvage.RunDone) != (u.Outcome != nil) {
		return invalid(field+".outcome", "a run has an outcome exactly when it is done")
	}
	if (u.Status == selvage.RunWaiting) != (u.Waiting != nil) {
		return invalid(field+".waiting", "a run says what it waits for exactly when it is waiting")
	}
	if u.Outcome != nil {
		switch u.Outcome.Kind {
		case selvage.OutcomeCompleted, selvage.OutcomeFailed, selvage.OutcomeCancelled, selvage.OutcomeStopped:
		default:
			return invalid(field+".outcome.kind", "%q is not an outcome; use completed, failed, cancelled or stopped", u.Outcome.Kind)
		}
		if err := checkText(field+".outcome", u.Outcome.Code, u.Outcome.Detail); err != nil {
			return err
		}
	}
	if w := u.Waiting; w != nil {
		if err := checkText(field+".waiting", append([]string{string(w.Reason), w.Message, w.LimitCode, string(w.Current), string(w.Max), w.Escalation.Ticket, string(w.Escalation.Proposed)}, w.Tickets...)...); err != nil {
			return err
		}
	}
	if u.Error != nil {
		return checkText(field+".error", *u.Error)
	}
	return nil
}

func checkCall(field string, u *selvage.CallUpdate) error {
	if err := checkID(field+".call_id", u.CallID); err != nil {
		return err
	}
	return errors.Join(checkText(field, u.Name, string(u.Effect), u.IdempotencyKey, u.Ticket), checkRaw(field+".suspension", u.Suspension), checkRaw(field+".decision", u.Decision))
}

func checkThreadUpdate(u *selvage.ThreadUpdate) error {
	if u == nil {
		return nil
	}
	if u.ParentID != nil && *u.ParentID != "" {
		if err := checkID("thread.parent_id", string(*u.ParentID)); err != nil {
			return err
		}
	}
	if u.UserID != nil && *u.UserID != "" {
		if err := checkID("thread.user_id", *u.UserID); err != nil {
			return err
		}
	}
	if u.Title != nil {
		if len(*u.Title) > selvage.MaxTitleBytes {
			return invalid("thread.title", "a title has at most %d bytes, this one has %d", selvage.MaxTitleBytes, len(*u.Title))
		}
		if err := checkLine("thread.title", *u.Title); err != nil {
			return err
		}
	}
	return checkMetadata("thread.metadata", u.Metadata)
}
