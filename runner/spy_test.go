package runner_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model/sim"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/store/inmem"
	"github.com/selvagehq/selvage/tool"
)

// spy is a store that keeps account of what is appended through it, and does
// to each append what a test asks for.
type spy struct {
	selvage.Store

	// before, if not nil, is called before the n-th append (from 1); an error
	// is returned in place of appending.
	before func(n int, set *selvage.ChangeSet) error
	// after, if not nil, is called after the n-th append; an error is returned
	// in place of the receipt of an append that happened.
	after func(n int, set *selvage.ChangeSet) error

	mu       sync.Mutex
	attempts int                 // guarded by mu
	took     []taken             // appends that happened; guarded by mu
	sent     []selvage.ChangeSet // every append that was tried; guarded by mu
}

// taken is a change set the store took.
type taken struct {
	set     selvage.ChangeSet
	pre     selvage.Precondition
	receipt selvage.Receipt
}

func newSpy() *spy { return &spy{Store: inmem.New(inmem.Options{})} }

func (s *spy) Unwrap() selvage.Store { return s.Store }

func (s *spy) Append(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
	s.mu.Lock()
	s.attempts++
	n := s.attempts
	s.sent = append(s.sent, set)
	s.mu.Unlock()
	if s.before != nil {
		if err := s.before(n, &set); err != nil {
			return selvage.Receipt{}, err
		}
	}
	receipt, err := s.Store.Append(ctx, id, set, pre)
	if err != nil {
		return receipt, err
	}
	s.mu.Lock()
	s.took = append(s.took, taken{set, pre, receipt})
	s.mu.Unlock()
	if s.after != nil {
		if err := s.after(n, &set); err != nil {
			return selvage.Receipt{}, err
		}
	}
	return receipt, nil
}

// appended returns the change sets the store took.
func (s *spy) appended() []taken {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]taken(nil), s.took...)
}

// schedule describes what was appended, one line a change.
func (s *spy) schedule() string {
	var b strings.Builder
	for _, a := range s.appended() {
		b.WriteString(describe(&a.set) + "\n")
	}
	return b.String()
}

// describe is a change set in one line: reason, and what it holds.
func describe(set *selvage.ChangeSet) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	for i := range set.Messages {
		m := &set.Messages[i]
		what := string(m.Role)
		if m.Internal() {
			what = "internal " + what
		}
		if len(m.ToolCalls) > 0 {
			what += "+calls"
		}
		add("%s", what)
	}
	if set.Snapshot != nil {
		add("snapshot")
	}
	for _, p := range set.Patches {
		add("patch %s", p.Source)
	}
	for i := range set.Runs {
		if o := set.Runs[i].Outcome; o != nil {
			add("run %s/%s", o.Kind, o.Code)
		} else {
			add("run %s", set.Runs[i].Status)
		}
	}
	for i := range set.Calls {
		add("call %s", set.Calls[i].Status)
	}
	return string(set.Reason) + ": " + strings.Join(parts, ", ")
}

func newModel(t testing.TB) *sim.Model {
	t.Helper()
	m, err := sim.New("echo")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// newRunner makes a runner with the simulation as its model, unless the
// options name another.
func newRunner(t testing.TB, opts runner.Options) *runner.Runner {
	t.Helper()
	if opts.Model == nil {
		opts.Model = newModel(t)
	}
	r, err := runner.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

type echoIn struct {
	Text string `json:"text"`
}

// echoTool answers what it is told, with the effect given.
func echoTool(name string, effect selvage.Effect) tool.Tool {
	opts := tool.Options{Effect: effect}
	if effect == selvage.EffectOnce {
		opts.OnUnknown = tool.FailUnknown
	}
	return tool.Func(name, "Repeats a text.", func(_ context.Context, in echoIn) (string, error) { return in.Text, nil }, opts)
}

// mustRun runs and fails the test on any error.
func mustRun(t testing.TB, r *runner.Runner, thread selvage.ThreadID, text string) runner.Result {
	t.Helper()
	result, err := r.Run(t.Context(), thread, runner.Text(text))
	if err != nil {
		t.Fatalf("run %q on %s: %v", text, thread, err)
	}
	return result
}

// load returns the head of a thread with all its messages.
func load(t testing.TB, s selvage.Store, id selvage.ThreadID) selvage.Head {
	t.Helper()
	all := 1 << 20
	head, err := s.Load(t.Context(), id, selvage.LoadOptions{Messages: &all})
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// transcript is the conversation of a thread, one message a line.
func transcript(messages []selvage.Message) string {
	var b strings.Builder
	for i := range messages {
		m := &messages[i]
		line := string(m.Role)
		if m.Internal() {
			line = "(" + line + ")"
		}
		line += ": " + m.Text()
		for _, c := range m.ToolCalls {
			line += fmt.Sprintf(" [%s %s]", c.Name, c.Arguments)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

func echoTools() []tool.Tool { return []tool.Tool{echoTool("echo", selvage.EffectNone)} }
