package budget_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/budget"
	"github.com/selvagehq/selvage/store/inmem"
	"github.com/selvagehq/selvage/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const parent selvage.RunID = "parent"

// dollars reads an amount that a test wrote.
func dollars(text string) *selvage.Money {
	m, err := selvage.ParseMoney(text)
	if err != nil {
		panic(err)
	}
	return &m
}

func childOf(i int) selvage.ChildRun {
	return selvage.ChildRun{ThreadID: selvage.ThreadID(fmt.Sprintf("t-c%d", i)), RunID: selvage.RunID(fmt.Sprintf("c%d", i))}
}

// begin records an open run on a thread of its own name.
func begin(t testing.TB, s selvage.Store, thread selvage.ThreadID, run selvage.RunID, limits selvage.Limits, under *selvage.ChildRun) {
	t.Helper()
	if err := tryBegin(t.Context(), s, thread, run, limits, under); err != nil {
		t.Fatal(err)
	}
}

func tryBegin(ctx context.Context, s selvage.Store, thread selvage.ThreadID, run selvage.RunID, limits selvage.Limits, under *selvage.ChildRun) error {
	_, err := s.Append(ctx, thread, selvage.ChangeSet{ID: "begin-" + string(run), RunID: run, Reason: selvage.ReasonUserMessage,
		Runs: []selvage.RunUpdate{{ID: run, Status: selvage.RunRunning, Spec: &selvage.RunSpec{Limits: limits, Budget: under}}}}, selvage.New())
	return err
}

// end records that a run has ended and what it has cost.
func end(t testing.TB, s selvage.Store, thread selvage.ThreadID, run selvage.RunID, cost string) {
	t.Helper()
	if err := tryEnd(t.Context(), s, thread, run, cost); err != nil {
		t.Fatal(err)
	}
}

func tryEnd(ctx context.Context, s selvage.Store, thread selvage.ThreadID, run selvage.RunID, cost string) error {
	_, err := s.Append(ctx, thread, selvage.ChangeSet{ID: "end-" + string(run), RunID: run, Reason: selvage.ReasonRunFinished,
		Runs: []selvage.RunUpdate{{ID: run, Status: selvage.RunDone, Cost: dollars(cost), Outcome: &selvage.Outcome{Kind: selvage.OutcomeCompleted}}}}, selvage.Any())
	return err
}

// spent books what an open run has cost itself.
func spent(t testing.TB, s selvage.Store, thread selvage.ThreadID, run selvage.RunID, cost string) {
	t.Helper()
	_, err := s.Append(t.Context(), thread, selvage.ChangeSet{RunID: run, Reason: selvage.ReasonAssistantTurn,
		Runs: []selvage.RunUpdate{{ID: run, Status: selvage.RunRunning, Cost: dollars(cost)}}}, selvage.Any())
	if err != nil {
		t.Fatal(err)
	}
}

func sheet(t testing.TB, b budget.Book) budget.Sheet {
	t.Helper()
	s, err := b.Sheet(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// backends opens stores; what reopen returns holds what the first held.
var backends = map[string]func(t testing.TB) (reopen func() selvage.Store){
	"inmem": func(testing.TB) func() selvage.Store {
		s := inmem.New(inmem.Options{})
		return func() selvage.Store { return s }
	},
	"sqlite": func(t testing.TB) func() selvage.Store {
		path := filepath.Join(t.TempDir(), "s.db")
		return func() selvage.Store {
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			return s
		}
	},
}

// mortal is a store of a process that dies with its n-th append: before it is
// made, or after it was and before anybody learns that.
type mortal struct {
	selvage.Store
	after bool

	mu   sync.Mutex
	left int // appends before it dies; guarded by mu
}

func (m *mortal) Append(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
	m.mu.Lock()
	m.left--
	dies, dead := m.left == 0, m.left < 0
	m.mu.Unlock()
	if dead || dies && !m.after {
		return selvage.Receipt{}, selvage.ErrClosed
	}
	receipt, err := m.Store.Append(ctx, id, set, pre)
	if dies {
		return selvage.Receipt{}, selvage.ErrClosed
	}
	return receipt, err
}
