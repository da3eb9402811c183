package commit

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 123_456_789, time.UTC)

// log is the smallest store there is: one thread, everything kept.
type log struct {
	head     Head
	doc      state.Document
	messages []string
	runs     map[selvage.RunID]selvage.Run
	calls    map[string]selvage.Call
	parents  map[selvage.ThreadID]selvage.ThreadID
	changes  []selvage.Change
	docs     []state.Document  // after each change
	keys     map[string][]byte // dedupe key: digest
	reads    []string          // which lookups the last judgement made
}

func newLog() *log {
	return &log{runs: map[selvage.RunID]selvage.Run{}, calls: map[string]selvage.Call{}, parents: map[selvage.ThreadID]selvage.ThreadID{}}
}

func (l *log) State() (state.Document, error) { l.reads = append(l.reads, "state"); return l.doc, nil }

func (l *log) At(v selvage.Version) (Past, error) {
	if int(v) > len(l.changes) {
		return Past{}, fmt.Errorf("version %d: %w", v, selvage.ErrNotFound)
	}
	return Past{l.docs[v-1], l.changes[v-1].LastSeq() + 1}, nil
}

func (l *log) KnownMessages(ids []string) ([]bool, error) {
	l.reads = append(l.reads, "messages")
	known := make([]bool, len(ids))
	for i, id := range ids {
		known[i] = slices.Contains(l.messages, id)
	}
	return known, nil
}

func (l *log) Blobs(ids []selvage.Hash) ([]bool, error) {
	l.reads = append(l.reads, "blobs")
	return make([]bool, len(ids)), nil
}

func (l *log) Delivery(key []byte) ([]byte, error) {
	l.reads = append(l.reads, "delivery")
	return l.keys[string(key)], nil
}

func (l *log) Run(id selvage.RunID) (*selvage.Run, error) {
	l.reads = append(l.reads, "run")
	if r, ok := l.runs[id]; ok {
		return &r, nil
	}
	return nil, nil
}

func (l *log) Call(id string) (*selvage.Call, error) {
	l.reads = append(l.reads, "call")
	if c, ok := l.calls[id]; ok {
		return &c, nil
	}
	return nil, nil
}

func (l *log) Parent(id selvage.ThreadID) (selvage.ThreadID, bool, error) {
	parent, ok := l.parents[id]
	return parent, ok, nil
}

func (l *log) judge(set selvage.ChangeSet, pre selvage.Precondition) (*Plan, error) {
	l.reads = nil
	r, err := NewRequest("t", set, pre)
	if err != nil {
		return nil, err
	}
	return r.Judge(&l.head, l, noon)
}

// append judges and, if the set is accepted, writes the plan.
func (l *log) append(t *testing.T, set selvage.ChangeSet, pre selvage.Precondition) *Plan {
	t.Helper()
	p, err := l.judge(set, pre)
	if err != nil {
		t.Fatalf("append %+v: %v", set, err)
	}
	l.head = p.Next
	if p.State != nil {
		l.doc = *p.State
	}
	l.messages = append(l.messages, p.MessageIDs...)
	for _, r := range p.Runs {
		l.runs[r.ID] = r
	}
	for _, c := range p.Calls {
		l.calls[c.ID] = c
	}
	l.changes, l.docs = append(l.changes, p.Change), append(l.docs, l.doc)
	return p
}

func user(id, text string) selvage.Message {
	m := selvage.UserText(text)
	m.ID = id
	return m
}

func running(id selvage.RunID) selvage.RunUpdate {
	return selvage.RunUpdate{ID: id, Status: selvage.RunRunning}
}

func done(id selvage.RunID) selvage.RunUpdate {
	return selvage.RunUpdate{ID: id, Status: selvage.RunDone, Outcome: &selvage.Outcome{Kind: selvage.OutcomeCompleted}}
}

func TestChain(t *testing.T) {
	t.Parallel()
	l := newLog()
	l.append(t, selvage.ChangeSet{Messages: []selvage.Message{user("a", "1"), user("", "2")}}, selvage.New())
	l.append(t, selvage.ChangeSet{}, selvage.Any())
	l.append(t, selvage.ChangeSet{Messages: []selvage.Message{user("a", "again"), user("b", "3"), user("b", "twice")}}, selvage.Exact(2))
	var prev selvage.Hash
	for i := range l.changes {
		if err := l.changes[i].Verify(prev); err != nil {
			t.Error(err)
		}
		prev = l.changes[i].Hash
	}
	last := l.changes[2]
	if last.FirstSeq != 3 || last.Added != 1 || !slices.Equal(last.Dropped, []int{0, 2}) || l.head.NextSeq != 4 {
		t.Errorf("change = %+v, next seq %d; want message b alone, at seq 3", last, l.head.NextSeq)
	}
	if last.At != noon.Truncate(time.Millisecond) {
		t.Errorf("stamped %v, want milliseconds of %v", last.At, noon)
	}
}

// TestOrderOfChecks puts two faults into each request; the earlier one must
// be the one that is told.
func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	bad := selvage.ChangeSet{Messages: []selvage.Message{{Role: "bard"}}}
	fenced := selvage.ChangeSet{Fence: &selvage.Fence{Epoch: 1}}
	live := Head{Thread: selvage.Thread{ID: "t", Version: 5}, Epoch: 2, NextSeq: 1}
	dead := Head{Thread: selvage.Thread{ID: "t", Version: 5}, Epoch: 2, Deleted: true}
	tests := []struct {
		name string
		head Head
		set  selvage.ChangeSet
		pre  selvage.Precondition
		want error
	}{
		{"tombstone before fence", dead, fenced, selvage.Any(), selvage.ErrGone},
		{"tombstone before shape", dead, bad, selvage.Exact(5), selvage.ErrGone},
		{"tombstone for new", dead, bad, selvage.New(), selvage.ErrAlreadyExists},
		{"fence before precondition", live, fenced, selvage.Exact(3), selvage.ErrFenced},
		{"precondition before shape", live, bad, selvage.Exact(3), selvage.ErrConflict},
		{"missing thread before shape", Head{}, bad, selvage.Any(), selvage.ErrNotFound},
		{"missing thread, exact", Head{}, bad, selvage.Exact(3), selvage.ErrNotFound},
		{"existing thread, new", live, bad, selvage.New(), selvage.ErrAlreadyExists},
		{"existing thread, exact 0", live, bad, selvage.Exact(0), selvage.ErrAlreadyExists},
		{"existing thread, recreate", live, bad, selvage.Recreate(), selvage.ErrAlreadyExists},
		{"missing thread, recreate", Head{}, bad, selvage.Recreate(), selvage.ErrNotFound},
		{"shape at last", live, bad, selvage.Exact(5), selvage.ErrInvalid},
		{"shape before runs", live, selvage.ChangeSet{Messages: bad.Messages, Runs: []selvage.RunUpdate{done("none")}}, selvage.Any(), selvage.ErrInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newLog()
			l.head = tt.head
			if _, err := l.judge(tt.set, tt.pre); !errors.Is(err, tt.want) {
				t.Errorf("Judge = %v, want %v", err, tt.want)
			}
		})
	}
}

func TestReplay(t *testing.T) {
	t.Parallel()
	l := newLog()
	set := selvage.ChangeSet{ID: "cs", Messages: []selvage.Message{user("", "hi")}}
	first := l.append(t, set, selvage.New())
	again, err := NewRequest("t", set, selvage.Exact(99))
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := again.Replay(&l.changes[0])
	if err != nil || !receipt.Replayed {
		t.Fatalf("Replay = %+v, %v", receipt, err)
	}
	receipt.Replayed = false
	if a, b := fmt.Sprintf("%+v", receipt), fmt.Sprintf("%+v", first.Receipt); a != b {
		t.Errorf("the receipt of a replay differs:\n%s\n%s", a, b)
	}
	for name, change := range map[string]func(*selvage.ChangeSet){
		"text":   func(s *selvage.ChangeSet) { s.Messages = []selvage.Message{user("", "ho")} },
		"reason": func(s *selvage.ChangeSet) { s.Reason = selvage.ReasonDecision },
		"run":    func(s *selvage.ChangeSet) { s.RunID = "r" },
		"more":   func(s *selvage.ChangeSet) { s.Events = []selvage.EventDraft{{Kind: "x"}} },
	} {
		other := set
		change(&other)
		r, err := NewRequest("t", other, selvage.Any())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Replay(&l.changes[0]); !errors.Is(err, selvage.ErrAlreadyExists) {
			t.Errorf("other %s under the same id: %v, want ErrAlreadyExists", name, err)
		}
	}
}

func TestRuns(t *testing.T) {
	t.Parallel()
	l := newLog()
	l.append(t, selvage.ChangeSet{Runs: []selvage.RunUpdate{running("r1")}}, selvage.New())
	if th := l.head.Thread; th.ActiveRunID != "r1" || th.OpenRunID != "r1" || th.LatestRunID != "r1" {
		t.Errorf("thread = %+v", th)
	}
	refused := map[string][]selvage.RunUpdate{
		"a second open run":       {running("r2")},
		"open before the other":   {running("r2"), done("r1")},
		"back to created":         {{ID: "r1", Status: selvage.RunCreated}},
		"done without an outcome": {{ID: "r1", Status: selvage.RunDone}},
		"waiting for nothing":     {{ID: "r1", Status: selvage.RunWaiting}},
		"a status of our own":     {{ID: "r1", Status: "paused"}},
		"an outcome while open":   {{ID: "r1", Status: selvage.RunRunning, Outcome: &selvage.Outcome{Kind: selvage.OutcomeFailed}}},
		"twice done":              {done("r1"), done("r1")},
	}
	for name, runs := range refused {
		if _, err := l.judge(selvage.ChangeSet{Runs: runs}, selvage.Any()); !errors.Is(err, selvage.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	p := l.append(t, selvage.ChangeSet{Runs: []selvage.RunUpdate{done("r1"), running("r2")}}, selvage.Any())
	if th := l.head.Thread; len(p.Runs) != 2 || th.OpenRunID != "r2" || th.LatestRunID != "r2" || l.head.OpenRun.ID != "r2" {
		t.Errorf("close one and open the next: %+v", th)
	}
	if _, err := l.judge(selvage.ChangeSet{Runs: []selvage.RunUpdate{done("r2"), running("r1")}}, selvage.Any()); !errors.Is(err, selvage.ErrInvalid) {
		t.Errorf("a done run runs again: %v", err)
	}
	waiting := selvage.RunUpdate{ID: "r2", Status: selvage.RunWaiting, Waiting: &selvage.Waiting{Reason: selvage.WaitApproval}}
	l.append(t, selvage.ChangeSet{Runs: []selvage.RunUpdate{waiting}}, selvage.Any())
	if th := l.head.Thread; th.ActiveRunID != "" || th.OpenRunID != "r2" {
		t.Errorf("a waiting run is open and not active: %+v", th)
	}
	l.runs["elsewhere"] = selvage.Run{ID: "elsewhere", ThreadID: "other", Status: selvage.RunRunning}
	if _, err := l.judge(selvage.ChangeSet{Runs: []selvage.RunUpdate{done("elsewhere")}}, selvage.Any()); !errors.Is(err, selvage.ErrInvalid) {
		t.Errorf("a run of another thread: %v", err)
	}
}

func TestCalls(t *testing.T) {
	t.Parallel()
	l := newLog()
	started := selvage.CallUpdate{CallID: "c", Name: "pay", Effect: selvage.EffectOnce, Status: selvage.CallStarted, IdempotencyKey: "k"}
	l.append(t, selvage.ChangeSet{RunID: "r", Calls: []selvage.CallUpdate{started}}, selvage.New())
	before := l.head
	if len(l.head.OpenCalls) != 1 {
		t.Fatalf("open calls = %+v", l.head.OpenCalls)
	}
	p := l.append(t, selvage.ChangeSet{Calls: []selvage.CallUpdate{{CallID: "c", Status: selvage.CallSucceeded}}}, selvage.Any())
	if c := p.Calls[0]; c.Name != "pay" || c.IdempotencyKey != "k" || c.RunID != "r" || len(l.head.OpenCalls) != 0 {
		t.Errorf("the ended call = %+v, still open: %+v", c, l.head.OpenCalls)
	}
	if len(before.OpenCalls) != 1 || before.OpenCalls[0].Status != selvage.CallStarted {
		t.Error("judging changed the head it judged by")
	}
	for _, s := range []selvage.CallStatus{selvage.CallStarted, selvage.CallFailed, selvage.CallSucceeded} {
		if _, err := l.judge(selvage.ChangeSet{Calls: []selvage.CallUpdate{{CallID: "c", Status: s}}}, selvage.Any()); !errors.Is(err, selvage.ErrInvalid) {
			t.Errorf("a terminal call became %s: %v", s, err)
		}
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	one, err := state.ParseValue([]byte(`1`))
	if err != nil {
		t.Fatal(err)
	}
	patch := func(ops ...state.Op) selvage.ChangeSet {
		return selvage.ChangeSet{Patches: []selvage.StatePatch{{Source: "tool:x", Ops: ops}}}
	}
	l := newLog()
	l.append(t, patch(state.Set("/n", one)), selvage.New())
	if slices.Contains(l.reads, "state") {
		t.Error("a new thread's state was looked up")
	}
	l.append(t, patch(state.Increment("/n", one)), selvage.Any())
	if got := string(l.doc.AppendJSON(nil)); got != `{"n":2}` {
		t.Errorf("state = %s", got)
	}
	_, err = l.judge(patch(state.Set("/m", one), state.Increment("/gone", one)), selvage.Any())
	var invalid *selvage.InvalidError
	if !errors.As(err, &invalid) || invalid.Field != "patches[0]" || !strings.Contains(invalid.Reason, "/gone") || !strings.Contains(invalid.Reason, "tool:x") {
		t.Errorf("a patch that does not apply: %v; want the path and the source named", err)
	}
	snapshot := selvage.ChangeSet{Snapshot: &state.Document{}}
	both := patch(state.Set("/m", one))
	both.Snapshot = snapshot.Snapshot
	if _, err := l.judge(both, selvage.Any()); !errors.Is(err, selvage.ErrInvalid) {
		t.Errorf("snapshot and patches in one set: %v", err)
	}
	l.append(t, snapshot, selvage.Any())
	if got := string(l.doc.AppendJSON(nil)); got != `{}` {
		t.Errorf("after the snapshot the state = %s", got)
	}
	if p := l.append(t, selvage.ChangeSet{}, selvage.Any()); p.State != nil || len(l.reads) != 0 {
		t.Errorf("an empty set looked up %v and gives state %v", l.reads, p.State)
	}
}

func TestThreadUpdate(t *testing.T) {
	t.Parallel()
	l := newLog()
	l.parents["p"], l.parents["loop"], l.parents["orphan"] = "", "t", "nobody"
	update := func(u selvage.ThreadUpdate) selvage.ChangeSet { return selvage.ChangeSet{Thread: &u} }
	l.append(t, update(selvage.ThreadUpdate{ParentID: new(selvage.ThreadID("p")), UserID: new("u"), Title: new("T"),
		Metadata: map[string]json.RawMessage{"a": json.RawMessage(`1`), "b": json.RawMessage(`"x"`)}}), selvage.New())
	before := l.head.Thread.Metadata
	l.append(t, update(selvage.ThreadUpdate{Metadata: map[string]json.RawMessage{"a": json.RawMessage(`null`), "c": json.RawMessage(`{}`)}}), selvage.Any())
	th := l.head.Thread
	if th.ParentID != "p" || th.UserID != "u" || th.Title != "T" || len(th.Metadata) != 2 || string(th.Metadata["c"]) != "{}" || len(before) != 2 || before["a"] == nil {
		t.Errorf("thread = %+v, metadata before %v", th, before)
	}
	for name, parent := range map[string]selvage.ThreadID{"itself": "t", "a descendant": "loop", "nobody": "missing", "below nobody": "orphan"} {
		if _, err := l.judge(update(selvage.ThreadUpdate{ParentID: &parent}), selvage.Any()); !errors.Is(err, selvage.ErrInvalid) {
			t.Errorf("%s as parent: %v, want ErrInvalid", name, err)
		}
	}
	l.append(t, update(selvage.ThreadUpdate{ParentID: new(selvage.ThreadID(""))}), selvage.Any())
	if l.head.Thread.ParentID != "" {
		t.Error("the parent was not cleared")
	}
}

func TestDeleteAndRecreate(t *testing.T) {
	t.Parallel()
	l := newLog()
	l.append(t, selvage.ChangeSet{Messages: []selvage.Message{user("a", "1")}, Runs: []selvage.RunUpdate{running("r")},
		Thread: &selvage.ThreadUpdate{Title: new("T")}}, selvage.New())
	p, err := Delete("t", &l.head, noon)
	if err != nil {
		t.Fatal(err)
	}
	if !p.Next.Deleted || p.Next.Thread.Version != 2 || p.Next.Epoch != 1 || p.Next.OpenRun != nil || p.Change.Reason != selvage.ReasonDeleted {
		t.Errorf("tombstone = %+v", p.Next)
	}
	if err := p.Change.Verify(l.head.Hash); err != nil {
		t.Error(err)
	}
	l.head, l.doc, l.messages = p.Next, state.Document{}, nil
	if _, err := Delete("t", &l.head, noon); !errors.Is(err, selvage.ErrNotFound) {
		t.Errorf("a second delete: %v, want ErrNotFound", err)
	}
	again := l.append(t, selvage.ChangeSet{Messages: []selvage.Message{user("a", "2")}}, selvage.Recreate())
	if c := again.Change; c.Version != 3 || c.Prev != p.Change.Hash || c.FirstSeq != 2 || c.Added != 1 || l.head.Thread.Title != "" || !l.head.Exists() {
		t.Errorf("recreated as %+v, thread %+v", c, l.head.Thread)
	}
}

func TestRequestLimits(t *testing.T) {
	t.Parallel()
	if _, err := NewRequest("t", selvage.ChangeSet{Messages: make([]selvage.Message, selvage.MaxSetMessages+1)}, selvage.Any()); !errors.Is(err, selvage.ErrTooLarge) {
		t.Errorf("too many messages: %v", err)
	}
	huge := []selvage.Message{user("", strings.Repeat("x", selvage.MaxSetBytes))}
	if _, err := NewRequest("t", selvage.ChangeSet{Messages: huge}, selvage.Any()); !errors.Is(err, selvage.ErrTooLarge) {
		t.Errorf("too many bytes: %v", err)
	}
	for _, id := range []selvage.ThreadID{"", "../x", "e\u0301"} {
		if _, err := NewRequest(id, selvage.ChangeSet{}, selvage.Any()); !errors.Is(err, selvage.ErrInvalid) {
			t.Errorf("thread id %q: %v", id, err)
		}
	}
	if _, err := NewRequest("t", selvage.ChangeSet{ID: "a/b"}, selvage.Any()); !errors.Is(err, selvage.ErrInvalid) {
		t.Errorf("change-set id a/b: %v", err)
	}
}
