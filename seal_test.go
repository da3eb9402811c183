package selvage

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/selvagehq/selvage/state"
)

// sealings are the ways in which a change can have lost parts, and combinations
// of them.
var sealings = map[string]func(*Change) error{
	"nothing":        func(*Change) error { return nil },
	"a message":      func(c *Change) error { return c.EraseMessages(0) },
	"both":           func(c *Change) error { return c.EraseMessages(0, 1) },
	"one, the other": func(c *Change) error { return errors.Join(c.EraseMessages(1), c.EraseMessages(0), c.EraseMessages(0)) },
	"state":          (*Change).CompactState,
	"state, message": func(c *Change) error { return errors.Join(c.CompactState(), c.EraseMessages(1)) },
	"message, state": func(c *Change) error { return errors.Join(c.EraseMessages(1), c.CompactState(), c.CompactState()) },
	"a base":         func(c *Change) error { c.Base = json.RawMessage(`{"n":1}`); return nil },
	"all": func(c *Change) error {
		err := errors.Join(c.CompactState(), c.EraseMessages(0, 1))
		c.Base = json.RawMessage(`{"n":1}`)
		return err
	},
}

// TestSealedVerifies proves what stays of every reduced change, after a round
// trip through a store's column and through JSON.
func TestSealedVerifies(t *testing.T) {
	t.Parallel()
	for name, reduce := range sealings {
		whole := appended(t, richSet(t))
		c := appended(t, richSet(t))
		if err := reduce(&c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		data, err := encodeJSON(&c)
		if err != nil {
			t.Fatal(err)
		}
		var wire Change
		if err := json.Unmarshal(data, &wire); err != nil {
			t.Fatal(err)
		}
		stored := c
		stored.Salt, stored.Parts, stored.Base = nil, nil, nil
		if err := stored.SetSeal(c.Seal()); err != nil {
			t.Fatalf("%s: SetSeal: %v", name, err)
		}
		for way, got := range map[string]*Change{"reduced": &c, "after JSON": &wire, "after a column": &stored} {
			if err := got.Verify(Hash{1}); err != nil {
				t.Errorf("%s, %s: %v", name, way, err)
			}
			if again, err := encodeJSON(got); err != nil || !bytes.Equal(again, data) {
				t.Errorf("%s, %s: it is %s and was %s", name, way, again, data)
			}
		}
		events, err := c.Events()
		before, _ := whole.Events()
		if err != nil || len(events) != len(before) {
			t.Fatalf("%s: %d events (%v), and %d before", name, len(events), err, len(before))
		}
		for i := range events {
			if events[i].Position != before[i].Position || events[i].Kind != before[i].Kind {
				t.Errorf("%s: event %d is of kind %s at %s", name, i, events[i].Kind, events[i].Position)
			}
		}
	}
}

// TestSealedTampered changes what is left of a reduced change.
func TestSealedTampered(t *testing.T) {
	t.Parallel()
	for name, tamper := range map[string]func(*Change){
		"kept message":  func(c *Change) { c.Messages[1] = bytes.Replace(c.Messages[1], []byte("look"), []byte("leak"), 1) },
		"facts":         func(c *Change) { c.Rest = bytes.Replace(c.Rest, []byte("started"), []byte("stopped"), 1) },
		"state back":    func(c *Change) { c.Rest = appended(t, richSet(t)).Rest },
		"own salt":      func(c *Change) { c.Parts[1].Salt[3] ^= 1 },
		"digest":        func(c *Change) { c.Parts[0].Digest[3] ^= 1 },
		"state digest":  func(c *Change) { c.Parts[3].Digest[3] ^= 1 },
		"a part less":   func(c *Change) { c.Parts = c.Parts[:3] },
		"a salt more":   func(c *Change) { c.Parts[0].Salt = c.Parts[1].Salt },
		"common salt":   func(c *Change) { c.Salt = make([]byte, SaltSize) },
		"no seal":       func(c *Change) { c.Parts = nil },
		"facts as gone": func(c *Change) { c.Parts[2] = PartSeal{Digest: Hash{1}} },
	} {
		c := appended(t, richSet(t))
		if err := errors.Join(c.EraseMessages(0), c.CompactState()); err != nil {
			t.Fatal(err)
		}
		tamper(&c)
		if err := c.Verify(Hash{1}); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s changed: Verify = %v, want ErrCorrupt", name, err)
		}
	}
}

func TestErasedLeavesNothing(t *testing.T) {
	t.Parallel()
	set := richSet(t)
	set.Messages[0].Content = Text("the secret")
	set.Messages[0].Metadata = map[string]json.RawMessage{"k": json.RawMessage(`"the secret"`)}
	set.Messages[1].ToolCalls[0].Arguments = json.RawMessage(`{"a":"the secret"}`)
	c := appended(t, set)
	master, own := slices.Clone(c.Salt), c.saltOf(0)
	if err := c.EraseMessages(0, 1); err != nil {
		t.Fatal(err)
	}
	data, err := encodeJSON(&c)
	if err != nil || bytes.Contains(data, []byte("secret")) {
		t.Errorf("%s still tells (%v)", data, err)
	}
	if seal := c.Seal(); bytes.Contains(seal, master) || bytes.Contains(seal, own) {
		t.Error("a salt stays from which a short secret could be guessed")
	}
	messages, err := c.AddedMessages()
	if err != nil {
		t.Fatal(err)
	}
	first, second := messages[0], messages[1]
	if !first.Erased || first.ID != "m-1" || first.Seq != 5 || first.Role != RoleUser || first.Content != nil || first.Metadata != nil {
		t.Errorf("the first skeleton is %+v", first)
	}
	if !second.Erased || second.ID != MessageID(c.ID, 1, c.At) || len(second.ToolCalls) != 1 || second.ToolCalls[0].ID != "c-1" ||
		second.ToolCalls[0].Name != "look" || second.ToolCalls[0].Arguments != nil {
		t.Errorf("the second skeleton is %+v", second)
	}
}

// TestSame holds sets against the change that one of them made, whole and reduced.
func TestSame(t *testing.T) {
	t.Parallel()
	other := map[string]func(*ChangeSet){
		"id":      func(s *ChangeSet) { s.ID = "cs-2" },
		"kept":    func(s *ChangeSet) { s.Messages[1].Metadata = nil },
		"role":    func(s *ChangeSet) { s.Messages[0].Role = RoleSystem },
		"fewer":   func(s *ChangeSet) { s.Messages = s.Messages[:1] },
		"run":     func(s *ChangeSet) { s.Runs = nil },
		"patch":   func(s *ChangeSet) { s.Patches[0].Source = "other" },
		"patches": func(s *ChangeSet) { s.Patches = nil },
	}
	same := func(c *Change, set ChangeSet) bool {
		body, err := EncodeBody(&set)
		if err != nil {
			t.Fatal(err)
		}
		return c.Same(&set, body)
	}
	for name, reduce := range sealings {
		if name == "both" || name == "one, the other" || name == "all" {
			continue // the second message can no longer be told from others
		}
		c := appended(t, richSet(t))
		if err := reduce(&c); err != nil {
			t.Fatal(err)
		}
		if !same(&c, richSet(t)) {
			t.Errorf("%s gone: its own set is another", name)
		}
		for what, change := range other {
			if what == "kept" && strings.Contains(name, "message") && name != "a message" {
				continue
			}
			set := richSet(t)
			change(&set)
			if same(&c, set) {
				t.Errorf("%s gone: a set with another %s is the same", name, what)
			}
		}
	}
	c := appended(t, ChangeSet{ID: "s", Reason: ReasonStateEdited})
	doc := state.Document{}
	if same(&c, ChangeSet{ID: "s", Reason: ReasonStateEdited, Snapshot: &doc}) {
		t.Error("a set with a snapshot is the same as one without")
	}
}

func TestCompactedState(t *testing.T) {
	t.Parallel()
	c := appended(t, richSet(t))
	if !c.HasState() || c.StateGone() || c.StateSize() == 0 {
		t.Errorf("a whole change: HasState %v, StateGone %v, StateSize %d", c.HasState(), c.StateGone(), c.StateSize())
	}
	if err := c.CompactState(); err != nil {
		t.Fatal(err)
	}
	if !c.HasState() || !c.StateGone() || c.StateSize() != 0 || bytes.Contains(c.Rest, []byte("patches")) {
		t.Errorf("a compacted change: HasState %v, StateGone %v, StateSize %d, %s", c.HasState(), c.StateGone(), c.StateSize(), c.Rest)
	}
	if _, err := c.ApplyState(state.Document{}); !errors.Is(err, ErrGone) {
		t.Errorf("ApplyState = %v, want ErrGone", err)
	}
	c.Base = json.RawMessage(`{"n":1}`)
	if doc, err := c.ApplyState(state.Document{}); err != nil || string(doc.AppendJSON(nil)) != `{"n":1}` {
		t.Errorf("ApplyState with a base = %v, %v", doc, err)
	}
	set, err := c.Set()
	if err != nil || set.Patches != nil || len(set.Runs) != 1 || set.Thread == nil {
		t.Errorf("the facts are %+v, %v", set, err)
	}
}

// TestSplitRest cuts rests whose facts look like the members to cut.
func TestSplitRest(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{}`:                                     ``,
		`{"runs":[{"patches":1}]}`:               ``,
		`{"events":[{"kind":",\"patches\":"}]}`:  ``,
		`{"patches":[1]}`:                        `"patches":[1]`,
		`{"snapshot":{}}`:                        `"snapshot":{}`,
		`{"runs":[{"a":"\\\""}],"snapshot":{}}`:  `"snapshot":{}`,
		`{"a":{"patches":1},"patches":[]}`:       `"patches":[]`,
		`{"rewind":3,"patches":[],"snapshot":1}`: `"patches":[],"snapshot":1`,
		`"patches":[]}`:                          ``,
		`{"patches":[]`:                          ``,
	} {
		facts, got := splitRest([]byte(in))
		if string(got) != want {
			t.Errorf("splitRest(%s): state %s, want %s", in, got, want)
		}
		if want != "" && !json.Valid(facts) {
			t.Errorf("splitRest(%s): facts %s are no JSON", in, facts)
		}
	}
}

// FuzzSetSeal holds that what is read as a seal is written the same again, and
// that nothing else is taken in.
func FuzzSetSeal(f *testing.F) {
	for _, reduce := range sealings {
		body := Body{Messages: []json.RawMessage{[]byte(`{"role":"user"}`), []byte(`{"role":"user"}`)}, Rest: []byte(`{"patches":[]}`)}
		c := Change{Salt: body.Salt[:], Messages: body.Messages, Rest: body.Rest}
		if err := reduce(&c); err != nil {
			f.Fatal(err)
		}
		f.Add(c.Seal())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := Change{Salt: []byte("before"), Messages: []json.RawMessage{[]byte("{}")}, Rest: []byte("{}")}
		switch err := c.SetSeal(data); {
		case err != nil:
			if !errors.Is(err, ErrCorrupt) || string(c.Salt) != "before" || c.Parts != nil {
				t.Fatalf("SetSeal(%x) = %v and left %+v", data, err, c)
			}
		case !bytes.Equal(c.Seal(), data):
			t.Fatalf("SetSeal(%x) is sealed as %x", data, c.Seal())
		default:
			_ = c.VerifyContent() // does not panic
			_ = c.EraseMessages(0)
			_ = c.CompactState()
		}
	})
}
