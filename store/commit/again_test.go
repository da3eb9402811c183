package commit

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// told is a log of every kind of change.
func told(t *testing.T) *log {
	l := newLog()
	one := state.Int(1)
	l.append(t, selvage.ChangeSet{Messages: []selvage.Message{user("a", "1"), user("", "2")}, Thread: &selvage.ThreadUpdate{Title: new("T")},
		RunID: "r", Runs: []selvage.RunUpdate{running("r")}}, selvage.New())
	l.append(t, selvage.ChangeSet{Messages: []selvage.Message{user("a", "again"), user("b", "3")},
		Patches: []selvage.StatePatch{{Ops: state.Patch{state.Set("/n", one)}}}}, selvage.Any())
	l.append(t, selvage.ChangeSet{RunID: "r", Calls: []selvage.CallUpdate{{CallID: "c", Status: selvage.CallStarted}},
		Patches: []selvage.StatePatch{{Ops: state.Patch{state.Increment("/n", one)}}}}, selvage.Any())
	l.append(t, selvage.ChangeSet{Runs: []selvage.RunUpdate{done("r")}, Calls: []selvage.CallUpdate{{CallID: "c", Status: selvage.CallFailed}}}, selvage.Any())
	return l
}

func TestAgain(t *testing.T) {
	t.Parallel()
	l, again := told(t), newLog()
	for i := range l.changes {
		p, err := Again(&again.head, &l.changes[i], again)
		if err != nil {
			t.Fatal(err)
		}
		again.head = p.Next
		if p.State != nil {
			again.doc = *p.State
		}
		again.messages = append(again.messages, p.MessageIDs...)
		for _, r := range p.Runs {
			again.runs[r.ID] = r
		}
		for _, c := range p.Calls {
			again.calls[c.ID] = c
		}
	}
	if !reflect.DeepEqual(again.head, l.head) || !again.doc.Equal(l.doc) || !reflect.DeepEqual(again.runs, l.runs) || !reflect.DeepEqual(again.messages, l.messages) {
		t.Errorf("judged again the log adds up to\n%+v\nnot\n%+v", again.head, l.head)
	}
}

// TestAgainTampered changes what no hash covers.
func TestAgainTampered(t *testing.T) {
	t.Parallel()
	for name, tamper := range map[string]func(*selvage.Change){
		"another message dropped": func(c *selvage.Change) { c.Dropped = []int{1} },
		"more dropped":            func(c *selvage.Change) { c.Dropped, c.Added = []int{0, 1}, 0 },
		"nothing dropped":         func(c *selvage.Change) { c.Dropped, c.Added = nil, 2 },
		"another seq":             func(c *selvage.Change) { c.FirstSeq++ },
		"another time":            func(c *selvage.Change) { c.At = c.At.AddDate(0, 0, 1) },
		"another version":         func(c *selvage.Change) { c.Version++ },
		"a longer salt":           func(c *selvage.Change) { c.Salt = append([]byte(nil), append(c.Salt, 0)...) },
		"a patch that cannot apply": func(c *selvage.Change) {
			c.Rest = json.RawMessage(`{"patches":[{"ops":[{"op":"increment","path":"/none","value":1}]}]}`)
		},
	} {
		l := told(t)
		head := newLog()
		first, err := Again(&head.head, &l.changes[0], head)
		if err != nil {
			t.Fatal(err)
		}
		head.head, head.messages = first.Next, first.MessageIDs
		c := l.changes[1]
		tamper(&c)
		if _, err := Again(&head.head, &c, head); !errors.Is(err, selvage.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
}

// TestTextIsUTF8 puts bytes that are no UTF-8 into every text of a set.
func TestTextIsUTF8(t *testing.T) {
	t.Parallel()
	const bad = "a\xffb"
	raw := json.RawMessage(`"` + bad + `"`)
	part := func(p selvage.Part) selvage.ChangeSet {
		return selvage.ChangeSet{Messages: []selvage.Message{{Role: selvage.RoleUser, Content: selvage.Content{p}}}}
	}
	update := func(u selvage.RunUpdate) selvage.ChangeSet {
		u.ID = "r"
		if u.Status == "" {
			u.Status = selvage.RunRunning
		}
		return selvage.ChangeSet{Runs: []selvage.RunUpdate{u}}
	}
	call := func(u selvage.CallUpdate) selvage.ChangeSet {
		u.CallID, u.Status = "c", selvage.CallStarted
		return selvage.ChangeSet{Calls: []selvage.CallUpdate{u}}
	}
	for name, set := range map[string]selvage.ChangeSet{
		"text":             part(selvage.Part{Type: selvage.PartText, Text: bad}),
		"signature":        part(selvage.Part{Type: selvage.PartReasoning, Signature: bad}),
		"media type":       part(selvage.Part{Type: selvage.PartImage, MediaType: bad, Data: []byte{1}}),
		"value":            part(selvage.Part{Type: selvage.PartData, Value: raw}),
		"tool name":        {Messages: []selvage.Message{{Role: selvage.RoleAssistant, ToolCalls: []selvage.ToolCall{{ID: "c", Name: bad}}}}},
		"arguments":        {Messages: []selvage.Message{{Role: selvage.RoleAssistant, ToolCalls: []selvage.ToolCall{{ID: "c", Name: "n", Arguments: raw}}}}},
		"message metadata": {Messages: []selvage.Message{{Role: selvage.RoleUser, Metadata: map[string]json.RawMessage{"k": raw}}}},
		"metadata key":     {Thread: &selvage.ThreadUpdate{Metadata: map[string]json.RawMessage{bad: json.RawMessage("1")}}},
		"title":            {Thread: &selvage.ThreadUpdate{Title: new(bad)}},
		"title with NUL":   {Thread: &selvage.ThreadUpdate{Title: new("a\x00b")}},
		"agent":            update(selvage.RunUpdate{AgentID: bad}),
		"agent with NUL":   update(selvage.RunUpdate{AgentID: "a\x00b"}),
		"model":            update(selvage.RunUpdate{Spec: &selvage.RunSpec{Model: bad}}),
		"error":            update(selvage.RunUpdate{Error: new(bad)}),
		"detail":           update(selvage.RunUpdate{Status: selvage.RunDone, Outcome: &selvage.Outcome{Kind: selvage.OutcomeFailed, Detail: bad}}),
		"key":              call(selvage.CallUpdate{IdempotencyKey: bad}),
		"decision":         call(selvage.CallUpdate{Decision: raw}),
		"event kind":       {Events: []selvage.EventDraft{{Kind: bad}}},
		"event payload":    {Events: []selvage.EventDraft{{Kind: "k", Payload: raw}}},
		"source":           {Patches: []selvage.StatePatch{{Source: bad}}},
	} {
		l := newLog()
		if _, err := l.judge(set, selvage.New()); !errors.Is(err, selvage.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
}
