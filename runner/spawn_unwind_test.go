package runner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/budget"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/tool"
)

// lessor is a store that refuses leases as a test wants it.
type lessor struct {
	*spy
	refuse func(selvage.ThreadID) error
	last   sync.Map // the lease of each thread that was taken last
}

func (l *lessor) Unwrap() selvage.Store { return l.spy }

func (l *lessor) Capability(target any) bool {
	if to, ok := target.(*selvage.Leaser); ok {
		*to = l
		return true
	}
	return false
}

func (l *lessor) inner() selvage.Leaser {
	in, _ := selvage.As[selvage.Leaser](l.spy)
	return in
}

func (l *lessor) Acquire(ctx context.Context, id selvage.ThreadID, owner selvage.Owner, ttl time.Duration) (selvage.Lease, error) {
	if err := l.refuse(id); err != nil {
		return selvage.Lease{}, err
	}
	lease, err := l.inner().Acquire(ctx, id, owner, ttl)
	l.last.Store(id, lease)
	return lease, err
}

// steal has somebody else take the lease of a thread.
func (l *lessor) steal(t *testing.T, id selvage.ThreadID) selvage.Lease {
	t.Helper()
	held, _ := l.last.Load(id)
	if err := l.inner().Release(t.Context(), held.(selvage.Lease)); err != nil {
		t.Fatal(err)
	}
	lease, err := l.inner().Acquire(t.Context(), id, selvage.Owner{Name: "other"}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func newLessor() *lessor {
	return &lessor{spy: newSpy(), refuse: func(selvage.ThreadID) error { return nil }}
}

func (l *lessor) Renew(ctx context.Context, held selvage.Lease, ttl time.Duration) (selvage.Lease, error) {
	return l.inner().Renew(ctx, held, ttl)
}

func (l *lessor) Release(ctx context.Context, held selvage.Lease) error {
	return l.inner().Release(ctx, held)
}

// What was set aside for a child that never began is free again for the next
// one, while the parent goes on.
func TestNeverBegan(t *testing.T) {
	t.Parallel()
	failed := fmt.Errorf("as the test wants it: %w", selvage.ErrTooLarge)
	tests := map[string]func(s *lessor, once func() error){
		"its first change is refused": func(s *lessor, once func() error) {
			s.before = func(_ int, set *selvage.ChangeSet) error {
				if begins(set) {
					return once()
				}
				return nil
			}
		},
		"its lease is refused": func(s *lessor, once func() error) {
			s.refuse = func(id selvage.ThreadID) error {
				if id != "t" {
					return once()
				}
				return nil
			}
		},
	}
	for name, arrange := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newLessor()
			refused := false
			arrange(store, func() error {
				if refused {
					return nil
				}
				refused = true
				return failed
			})
			opts := runner.Options{Store: store, Tools: []tool.Tool{spawning(t)}, Limits: selvage.Limits{Spend: new(selvage.Dollar)}}
			result := mustRun(t, newRunner(t, opts), "t", `loop 2 spawn_agent {"prompt":"hi","max_spend":"0.9"}`)
			got := results(t, store, "t")
			if len(got) != 2 || !strings.Contains(got[0], "as the test wants it") || got[1] != "You said: hi" {
				t.Errorf("results %q", got)
			}
			below := spawnedBy(t, store, result.RunID)
			s := sheetOf(t, store, "t", result.RunID)
			if len(below) != 1 || s.Spawns() != 1 || len(s.Open()) != 0 || s.Spent().Spend != below[0].Cost {
				t.Errorf("children %+v, budget %+v", below, s)
			}
		})
	}
}

// A child of which nobody can say whether it began keeps its part, until the
// parent runs out of its budget and looks again.
func TestNobodyKnowsWhetherItBegan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newSpy()
		var first selvage.RunID
		store.before = func(_ int, set *selvage.ChangeSet) error {
			if begins(set) && (first == "" || first == set.RunID) {
				first = set.RunID
				return selvage.ErrUnavailable
			}
			return nil
		}
		opts := runner.Options{Store: store, Tools: []tool.Tool{spawning(t)}, Limits: selvage.Limits{Spend: new(selvage.Dollar)}}
		result := mustRun(t, newRunner(t, opts), "t", `loop 2 spawn_agent {"prompt":"hi"}`)
		if got := results(t, store, "t"); result.Waiting != nil || len(got) != 2 || got[1] != "You said: hi" {
			t.Errorf("%+v, results %q", result, got)
		}
		if s := sheetOf(t, store, "t", result.RunID); s.Children[first].Status != budget.Released || s.Spawns() != 1 {
			t.Errorf("budget %+v", s)
		}
	})
}

// A run that is cancelled while it sets something aside leaves nothing so, nor
// does one of which the process dies there and that is cancelled from outside.
func TestNeverBeganAndCancelled(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"here", "from outside"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			store := newSpy()
			store.after = func(_ int, set *selvage.ChangeSet) error {
				switch {
				case len(set.Patches) == 0 || set.Patches[0].Source != budget.SourceReserve:
				case way == "here":
					cancel()
				default:
					store.before = dead(0)
				}
				return nil
			}
			opts := runner.Options{Store: store, Tools: []tool.Tool{spawning(t)}, Limits: selvage.Limits{Spend: new(selvage.Dollar)}}
			_, err := newRunner(t, opts).Run(ctx, "t", runner.Text(spawnHello))
			if err == nil {
				t.Fatal("it went on")
			}
			store.before, store.after = nil, nil
			page, err := store.Runs(t.Context(), selvage.RunQuery{ThreadID: "t"})
			if err != nil || len(page.Items) != 1 {
				t.Fatalf("%+v, %v", page.Items, err)
			}
			if _, err := runner.Cancel(t.Context(), store, page.Items[0].ID, ""); err != nil {
				t.Fatal(err)
			}
			if s := sheetOf(t, store, "t", page.Items[0].ID); len(s.Open()) != 0 || s.Spawns() != 0 || s.Reserved() != (budget.Amount{}) {
				t.Errorf("budget %+v", s)
			}
			mustRun(t, newRunner(t, opts), "t", "hi")
			if _, kept := load(t, store, "t").State.Get(state.At(state.BudgetsKey)); kept {
				t.Error("the budget outlived its run and the next one")
			}
		})
	}
}

// A process that leads a run no more cannot change its budget.
func TestBudgetIsFenced(t *testing.T) {
	t.Parallel()
	store := newLessor()
	stolen := false
	store.before = func(_ int, set *selvage.ChangeSet) error {
		if !stolen && len(set.Patches) > 0 && set.Patches[0].Source == budget.SourceReserve {
			stolen = true
			store.steal(t, "t")
		}
		return nil
	}
	opts := runner.Options{Store: store, Tools: []tool.Tool{spawning(t)}, Limits: selvage.Limits{Spend: new(selvage.Dollar)}}
	_, err := newRunner(t, opts).Run(t.Context(), "t", runner.Text(spawnHello))
	if !stolen || !errors.Is(err, selvage.ErrFenced) {
		t.Fatalf("error %v", err)
	}
	if s := sheetOf(t, store, "t", load(t, store, "t").OpenRun.ID); len(s.Children) != 0 {
		t.Errorf("budget %+v", s)
	}
}
