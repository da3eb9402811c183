package selvage

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/selvagehq/selvage/state"
)

// richSet uses every kind of content a change set can carry.
func richSet(t *testing.T) ChangeSet {
	t.Helper()
	set, err := DecodeChangeSet([]byte(`{
		"id": "cs-1", "run_id": "run-1", "parent_run_id": "run-0", "reason": "user_message",
		"messages": [
			{"id": "m-1", "role": "user", "content": "a <b> & \u2028 c"},
			{"role": "assistant", "tool_calls": [{"id": "c-1", "name": "look", "arguments": {"n": 9007199254740993}}],
			 "metadata": {"big": 12345678901234567890123}}],
		"runs": [{"id": "run-1", "status": "running", "usage": {"input_tokens": 3, "output_tokens": 0}}],
		"patches": [{"source": "tool:look", "ops": [{"op": "set", "path": "/n", "value": 9007199254740993}]}],
		"calls": [{"call_id": "c-1", "name": "look", "effect": "once", "status": "started"}],
		"events": [{"kind": "ticket", "payload": {"a": 1}}],
		"thread": {"title": "T", "metadata": {"k": "v"}},
		"fence": {"epoch": 4}}`))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// appended is the change a store would make of set as version 3 of a thread.
func appended(t *testing.T, set ChangeSet) Change {
	t.Helper()
	body, err := EncodeBody(&set)
	if err != nil {
		t.Fatal(err)
	}
	at := time.UnixMilli(1_700_000_000_123).UTC()
	c := Change{ThreadID: "t", Version: 3, ID: set.ID, RunID: set.RunID, ParentRunID: set.ParentRunID, Reason: set.Reason,
		At: at, FirstSeq: 5, Added: len(set.Messages), Prev: Hash{1}, Salt: body.Salt[:], Messages: body.Messages, Rest: body.Rest}
	c.Content = body.Content(set.ID, set.RunID, set.ParentRunID, set.Reason)
	c.Hash = ChainHash(c.Prev, c.Version, c.FirstSeq, c.At, c.Content)
	return c
}

func TestChangeVerifies(t *testing.T) {
	t.Parallel()
	c := appended(t, richSet(t))
	if err := c.Verify(Hash{1}); err != nil {
		t.Fatalf("Verify of an untouched change: %v", err)
	}
	if err := c.Verify(Hash{2}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("Verify after another change = %v, want ErrCorrupt", err)
	}
}

// TestChangeTampered changes each thing a hash stands for, one at a time.
func TestChangeTampered(t *testing.T) {
	t.Parallel()
	tamper := map[string]func(*Change){
		"id":           func(c *Change) { c.ID = "cs-2" },
		"run":          func(c *Change) { c.RunID = "run-2" },
		"parent run":   func(c *Change) { c.ParentRunID = "" },
		"reason":       func(c *Change) { c.Reason = ReasonDecision },
		"version":      func(c *Change) { c.Version++ },
		"first seq":    func(c *Change) { c.FirstSeq++ },
		"time":         func(c *Change) { c.At = c.At.Add(time.Millisecond) },
		"salt":         func(c *Change) { c.Salt[0] ^= 1 },
		"short salt":   func(c *Change) { c.Salt = c.Salt[1:] },
		"long salt":    func(c *Change) { c.Salt = append(c.Salt, 0) },
		"swapped":      func(c *Change) { c.Messages[0], c.Messages[1] = c.Messages[1], c.Messages[0] },
		"missing":      func(c *Change) { c.Messages = c.Messages[:1] },
		"content hash": func(c *Change) { c.Content[31] ^= 1 },
	}
	for name, change := range tamper {
		c := appended(t, richSet(t))
		change(&c)
		if err := c.Verify(Hash{1}); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), `thread "t" version`) {
			t.Errorf("%s changed: Verify = %v, want ErrCorrupt naming the place", name, err)
		}
	}
	whole := appended(t, richSet(t))
	for i := range whole.Rest {
		c := appended(t, richSet(t))
		c.Rest[i] ^= 1
		if err := c.VerifyContent(); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("byte %d of the body flipped: VerifyContent = %v, want ErrCorrupt", i, err)
		}
	}
}

// TestChangeWire proves that a change survives JSON with its proof intact.
func TestChangeWire(t *testing.T) {
	t.Parallel()
	c := appended(t, richSet(t))
	data, err := encodeJSON(&c)
	if err != nil {
		t.Fatal(err)
	}
	var back Change
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if err := back.Verify(Hash{1}); err != nil {
		t.Errorf("Verify after a round trip through JSON: %v", err)
	}
}

// TestContentIgnores holds what is no content: fences, seqs, times.
func TestContentIgnores(t *testing.T) {
	t.Parallel()
	set := richSet(t)
	first, err := EncodeBody(&set)
	if err != nil {
		t.Fatal(err)
	}
	set.Fence = &Fence{Epoch: 99}
	set.Messages[0].Seq, set.Messages[0].CreatedAt = 7, time.Now()
	second, err := EncodeBody(&set)
	if err != nil {
		t.Fatal(err)
	}
	if first.Salt == second.Salt {
		t.Error("two bodies have the same salt")
	}
	second.Salt = first.Salt
	if a, b := first.Content(set.ID, "", "", ""), second.Content(set.ID, "", "", ""); a != b {
		t.Errorf("content digests differ: %v and %v", a, b)
	}
}

// TestChainFormat pins the format: these digests were computed apart from this code, from
// the layout in the doc comments and may never change within format 1.
func TestChainFormat(t *testing.T) {
	t.Parallel()
	body := Body{Messages: []json.RawMessage{[]byte(`{"role":"user"}`)}, Rest: []byte(`{}`)}
	copy(body.Salt[:], "0123456789abcdef")
	content := body.Content("cs", "run", "", ReasonUserMessage)
	if got, want := content.String(), "660232a587db98d97a15c03b80525e53cb078c5b3552106181546390023068be"; got != want {
		t.Errorf("content digest = %s, want %s", got, want)
	}
	hash := ChainHash(Hash{}, 1, 1, time.UnixMilli(1_700_000_000_000), content)
	if got, want := hash.String(), "1e54eef5ab22627bb5f64338bcc08a513117e8dc01aa6bcc606100a1ecd9e8e7"; got != want {
		t.Errorf("chain hash = %s, want %s", got, want)
	}
}

func TestMessageAssignment(t *testing.T) {
	t.Parallel()
	c := appended(t, richSet(t))
	messages, err := c.AddedMessages()
	if err != nil {
		t.Fatal(err)
	}
	if m := messages[0]; m.ID != "m-1" || m.Seq != 5 || m.RunID != "run-1" || !m.CreatedAt.Equal(c.At) || m.Text() != "a <b> & \u2028 c" {
		t.Errorf("first message = %+v", m)
	}
	m := messages[1]
	if want := MessageID("cs-1", 1, c.At); m.ID != want || m.Seq != 6 {
		t.Errorf("second message has id %s seq %d, want %s and 6", m.ID, m.Seq, want)
	}
	if got := string(m.ToolCalls[0].Arguments); got != `{"n":9007199254740993}` {
		t.Errorf("arguments = %s: digits were lost", got)
	}
	if got := string(m.Metadata["big"]); got != "12345678901234567890123" {
		t.Errorf("metadata = %s: digits were lost", got)
	}
	c.Dropped, c.Added = []int{0}, 1
	if messages, err = c.AddedMessages(); err != nil || len(messages) != 1 || messages[0].Seq != 5 || messages[0].Role != RoleAssistant {
		t.Errorf("with the first dropped: %+v, %v", messages, err)
	}
	c.Dropped = nil
	if _, err = c.AddedMessages(); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a count that does not fit: %v, want ErrCorrupt", err)
	}
}

func TestChangeAppliesState(t *testing.T) {
	t.Parallel()
	doc, err := state.Parse([]byte(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	c := appended(t, richSet(t))
	after, err := c.ApplyState(doc)
	if err != nil {
		t.Fatal(err)
	}
	if got := after.AppendJSON(nil); !bytes.Equal(got, []byte(`{"a":1,"n":9007199254740993}`)) {
		t.Errorf("state = %s", got)
	}
	c = appended(t, ChangeSet{ID: "s", Reason: ReasonStateEdited, Snapshot: &after})
	if again, err := c.ApplyState(state.Document{}); err != nil || !again.Equal(after) {
		t.Errorf("snapshot gives %v, %v", again, err)
	}
	if c = appended(t, ChangeSet{ID: "e", Reason: ReasonStateEdited}); string(c.Rest) != "{}" {
		t.Errorf("the rest of an empty set = %s, want {}", c.Rest)
	}
}

func TestChangeEvents(t *testing.T) {
	t.Parallel()
	set := richSet(t)
	c := appended(t, set)
	events, err := c.Events()
	if err != nil {
		t.Fatal(err)
	}
	want := []EventKind{EventMessage, EventMessage, EventState, EventRun, EventToolCall, EventThread, EventTicket}
	if n := EventCount(&set, c.Added); n != len(want) || len(events) != n {
		t.Fatalf("EventCount = %d and %d events, want %d", n, len(events), len(want))
	}
	for i, e := range events {
		if e.Kind != want[i] || e.Position != (Position{3, i}) || !json.Valid(e.Payload) {
			t.Errorf("event %d = %+v, want kind %s", i, e, want[i])
		}
	}
}
