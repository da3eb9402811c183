package runner_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/inmem"
)

// timeless is a test without a deadline, which has no place where time is not
// real.
type timeless struct{ testing.TB }

const fuzzThread selvage.ThreadID = "t"

// Whatever models and tools do, and whoever dies, decides or writes meanwhile,
// the log stays what it promises to be.
func TestFuzzScripts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(timeless{t}, func(draw *rapid.T) {
			m := newMachine(t, draw)
			defer func() { _ = m.store.Close() }() // it forgets
			draw.Repeat(map[string]func(*rapid.T){
				"":        m.check,
				"say":     m.say,
				"resume":  m.resume,
				"recover": m.recover,
				"decide":  m.decide,
				"cancel":  m.cancel,
				"meddle":  m.meddle,
				"rewind":  m.rewind,
				"signal":  m.signal,
				"early":   m.early,
				"raise":   m.raise,
			})
		})
	})
}

// machine is a thread, the process that leads its runs, and what is known of
// both.
type machine struct {
	t       *testing.T
	store   *inmem.Store
	process *process
	runner  *runner.Runner
	mode    selvage.ToolCalls
	acts    *acts
	allowed map[string]int // how often a call of effect once may be carried out besides once
	draw    *rapid.T
}

func newMachine(t *testing.T, draw *rapid.T) *machine {
	m := &machine{t: t, draw: draw, store: inmem.New(inmem.Options{}), acts: &acts{once: make(map[string]int), steps: make(map[string]bool)}, allowed: make(map[string]int),
		mode: rapid.SampledFrom([]selvage.ToolCalls{selvage.ToolCallsSequential, selvage.ToolCallsParallel, selvage.ToolCallsBatch}).Draw(draw, "mode")}
	if _, err := m.store.Append(t.Context(), fuzzThread, selvage.ChangeSet{Patches: []selvage.StatePatch{{Ops: state.Patch{state.Set("/value", state.String("none"))}}}}, selvage.New()); err != nil {
		draw.Fatal(err)
	}
	return m
}

// begin makes a process to do something in, which may die while it does.
func (m *machine) begin(draw *rapid.T) {
	m.process = newProcess(m.store)
	switch rapid.SampledFrom([]string{"lives", "lives", "dies", "loses"}).Draw(draw, "fate") {
	case "dies":
		m.process.fuse, m.process.after = rapid.IntRange(1, 8).Draw(draw, "fuse"), rapid.Bool().Draw(draw, "after")
	case "loses":
		m.process.silent = rapid.IntRange(1, 8).Draw(draw, "silent")
	}
	r, err := runner.New(runner.Options{Store: m.process, Model: &moody{draw: draw, turns: rapid.IntRange(0, 4).Draw(draw, "turns"), meanwhile: m.meanwhile}, MaxTurns: rapid.SampledFrom([]int{0, 2}).Draw(draw, "limit"),
		Tools: m.acts.tools(), ToolCalls: m.mode, Owner: selvage.Owner{Name: "fuzz", Token: selvage.NewID()}, Retry: runner.Retry{Attempts: 3, Initial: 1, Max: 1}})
	if err != nil {
		draw.Fatal(err)
	}
	m.runner = r
}

// end looks at how something ended: as it may, or because the process died.
func (m *machine) end(draw *rapid.T, err error) {
	if m.process.bury(m.t.Context()) {
		return
	}
	var failed *runner.FailedError
	var state *runner.StateError
	switch {
	case err == nil, errors.As(err, &failed), errors.As(err, &state), errors.Is(err, selvage.ErrInvalid):
	default:
		draw.Fatalf("a run ended with %v", err)
	}
}

func (m *machine) say(draw *rapid.T) {
	m.begin(draw)
	_, err := m.runner.Run(m.t.Context(), fuzzThread, runner.Text("do something"))
	m.end(draw, err)
}

// open returns the open run, if there is one.
func (m *machine) open(draw *rapid.T) *selvage.Run {
	head, err := m.store.Load(m.t.Context(), fuzzThread, selvage.LoadOptions{})
	if err != nil {
		draw.Fatal(err)
	}
	if head.OpenRun == nil {
		draw.Skip("no run is open")
	}
	return head.OpenRun
}

func (m *machine) resume(draw *rapid.T) {
	open := m.open(draw)
	m.begin(draw)
	_, err := m.runner.Resume(m.t.Context(), open.ID, runner.ResumeOptions{})
	m.end(draw, err)
}

func (m *machine) recover(draw *rapid.T) {
	m.open(draw)
	m.begin(draw)
	_, err := m.runner.Recover(m.t.Context())
	m.end(draw, err)
}

// decide answers one of the questions, some answers twice.
func (m *machine) decide(draw *rapid.T) {
	open := m.open(draw)
	questions, err := runner.Questions(m.t.Context(), m.store, open.ID)
	if err != nil {
		draw.Fatal(err)
	}
	if len(questions) == 0 {
		draw.Skip("nothing is asked")
	}
	q := rapid.SampledFrom(questions).Draw(draw, "question")
	d := selvage.Decision{Action: rapid.SampledFrom([]selvage.DecisionAction{selvage.DecisionResume, selvage.DecisionResume, selvage.DecisionCancel, selvage.DecisionAbort}).Draw(draw, "action")}
	if d.Action == selvage.DecisionResume && rapid.Bool().Draw(draw, "with a result") {
		d.Result = []byte(`"as decided"`)
	}
	target := q.Call.ID // several may wait under one ticket
	first, err := runner.Decide(m.t.Context(), m.store, open.ID, d, target)
	if err != nil || first.Status != runner.Recorded {
		draw.Fatalf("decision on %+v: %+v, %v", q, first, err)
	}
	if q.Ticket.Unknown && d.Action == selvage.DecisionResume && d.Result == nil {
		m.allowed[q.Call.ID]++
	}
	second, err := runner.Decide(m.t.Context(), m.store, open.ID, first.Decision, target)
	if err != nil || second.Status != runner.Repeated {
		draw.Fatalf("the same decision again: %+v, %v", second, err)
	}
}

func (m *machine) cancel(draw *rapid.T) {
	open := m.open(draw)
	if _, err := runner.Cancel(m.t.Context(), m.store, open.ID, "enough"); err != nil {
		draw.Fatal(err)
	}
}

// meddle is a change by somebody else.
func (m *machine) meddle(draw *rapid.T) {
	set := selvage.ChangeSet{}
	switch rapid.SampledFrom([]string{"message", "title", "edit"}).Draw(draw, "what") {
	case "message":
		set.Messages = []selvage.Message{selvage.UserText("by the way")}
	case "title":
		title := "A title"
		set.Thread = &selvage.ThreadUpdate{Title: &title}
	case "edit":
		set.Patches = []selvage.StatePatch{{Source: "editor", Ops: state.Patch{state.Set("/value", state.String("edited"))}}}
	}
	if _, err := m.store.Append(m.t.Context(), fuzzThread, set, selvage.Any()); err != nil {
		draw.Fatal(err)
	}
}

// rewind goes back to any version, if no run is open.
func (m *machine) rewind(draw *rapid.T) {
	head, err := m.store.Load(m.t.Context(), fuzzThread, selvage.LoadOptions{})
	if err != nil {
		draw.Fatal(err)
	}
	if head.OpenRun != nil {
		draw.Skip("a run is open")
	}
	to := selvage.Version(rapid.Uint64Range(1, uint64(head.Thread.Version)).Draw(draw, "version"))
	if _, err := m.store.Append(m.t.Context(), fuzzThread, selvage.ChangeSet{Rewind: &to}, selvage.Any()); err != nil {
		draw.Fatal(err)
	}
}

// check holds the log against everything that it promises.
func (m *machine) check(draw *rapid.T) {
	l, err := readWhole(m.t.Context(), m.store, fuzzThread)
	if err != nil {
		draw.Fatal(err)
	}
	for _, fault := range l.faults() {
		draw.Error(fault)
	}
	m.acts.mu.Lock()
	defer m.acts.mu.Unlock()
	for key, n := range m.acts.once {
		if n > 1+m.allowed[key] {
			draw.Error(fmt.Sprintf("call %s, whose effect is once, was carried out %d times, and decided to be %d times more", key, n, m.allowed[key]))
		}
	}
	for _, fault := range m.acts.faults {
		draw.Error(fault)
	}
	if draw.Failed() {
		draw.FailNow()
	}
}
