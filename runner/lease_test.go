package runner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/store/inmem"
	"github.com/selvagehq/selvage/tool"
)

// leaser is a store whose renewals a test may let fail.
type leaser struct {
	*spy
	inner    *inmem.Store
	renew    func() error
	acquire  func()
	refuse   func() error
	renewals atomic.Int32
}

func newLeaser() *leaser {
	inner := inmem.New(inmem.Options{})
	return &leaser{spy: &spy{Store: inner}, inner: inner}
}

func (l *leaser) Acquire(ctx context.Context, id selvage.ThreadID, owner selvage.Owner, ttl time.Duration) (selvage.Lease, error) {
	if l.acquire != nil {
		l.acquire()
	}
	if l.refuse != nil {
		if err := l.refuse(); err != nil {
			return selvage.Lease{}, err
		}
	}
	return l.inner.Acquire(ctx, id, owner, ttl)
}

func (l *leaser) Renew(ctx context.Context, held selvage.Lease, ttl time.Duration) (selvage.Lease, error) {
	l.renewals.Add(1)
	if l.renew != nil {
		if err := l.renew(); err != nil {
			return selvage.Lease{}, err
		}
	}
	return l.inner.Renew(ctx, held, ttl)
}

func (l *leaser) Release(ctx context.Context, held selvage.Lease) error {
	return l.inner.Release(ctx, held)
}

// A run holds its lease for as long as it takes, and gives it back.
func TestLeaseIsRenewed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newLeaser()
		r := newRunner(t, runner.Options{Store: store, LeaseTTL: 30 * time.Second})
		go func() {
			time.Sleep(5 * time.Minute)
			_, err := store.Acquire(t.Context(), "t", selvage.Owner{Name: "other"}, time.Minute)
			if !errors.Is(err, selvage.ErrBusy) {
				t.Errorf("the lease was free after five minutes: %v", err)
			}
		}()
		mustRun(t, r, "t", "sleep 10m")
		if n := store.renewals.Load(); n != 59 && n != 60 {
			t.Errorf("%d renewals in ten minutes, want one every ten seconds", n)
		}
		if head := load(t, store, "t"); head.Lease != nil {
			t.Error("the lease is still held")
		}
	})
}

// A lease that cannot be renewed for a while stays the run's as long as nobody
// takes it.
func TestLeaseSurvivesAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newLeaser()
		failures := 0
		store.renew = func() error {
			if failures++; failures < 20 {
				return fmt.Errorf("no line: %w", selvage.ErrUnavailable)
			}
			return nil
		}
		if result := mustRun(t, newRunner(t, runner.Options{Store: store}), "t", "sleep 10m"); result.Text != "Slept 10m." {
			t.Errorf("answer %q", result.Text)
		}
	})
}

// A run whose lease is taken over stops, writes nothing more, and says so.
func TestLeaseLost(t *testing.T) {
	t.Parallel()
	for _, say := range []string{"sleep 10m", "call idle {}"} {
		t.Run(say, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newLeaser()
				down := atomic.Bool{}
				store.renew = func() error {
					if down.Load() {
						return errDown
					}
					return nil
				}
				r := newRunner(t, runner.Options{Store: store, LeaseTTL: 30 * time.Second, Tools: []tool.Tool{waiting("idle", selvage.EffectOnce)}})
				var done sync.WaitGroup
				done.Go(func() {
					time.Sleep(time.Minute)
					down.Store(true)
					time.Sleep(time.Minute) // it has run out by now
					if _, err := store.Acquire(t.Context(), "t", selvage.Owner{Name: "other"}, time.Hour); err != nil {
						t.Error(err)
					}
					down.Store(false)
				})
				began := time.Now()
				_, err := r.Run(t.Context(), "t", runner.Text(say))
				done.Wait()
				var state *runner.StateError
				var failed *runner.FailedError
				if !errors.Is(err, selvage.ErrFenced) || !errors.As(err, &state) || errors.As(err, &failed) {
					t.Errorf("error %v: want a bare StateError of class fenced", err)
				}
				if took := time.Since(began); took > 3*time.Minute {
					t.Errorf("it stopped after %s", took)
				}
				if len(store.sent) != len(store.appended()) {
					t.Error("it tried to append after it knew")
				}
				head := load(t, store, "t")
				if head.OpenRun == nil || head.Lease == nil || head.Lease.Owner.Name != "other" {
					t.Errorf("open run %v, lease %v: want the run open and the lease the other's", head.OpenRun, head.Lease)
				}
			})
		})
	}
}

// A run that lost its lease without knowing is stopped by the fence.
func TestFenced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newLeaser()
		store.renew = func() error { return errDown }
		ask := tool.Func("steal", "", func(ctx context.Context, _ struct{}) (string, error) {
			time.Sleep(time.Hour)
			_, err := store.Acquire(ctx, "t", selvage.Owner{Name: "other"}, time.Hour)
			return "stolen", err
		}, tool.Options{Effect: selvage.EffectNone})
		_, err := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{ask}}).Run(t.Context(), "t", runner.Text("call steal {}"))
		var state *runner.StateError
		if !errors.Is(err, selvage.ErrFenced) || !errors.As(err, &state) || state.Reason != selvage.ReasonToolResults {
			t.Errorf("error %v, want the results fenced", err)
		}
		if n := len(store.appended()); n != 2 {
			t.Errorf("%d changes, want 2", n)
		}
	})
}

// Runs on one thread queue for its lease; each is answered once, in a
// conversation of whole turns.
func TestQueue(t *testing.T) {
	t.Parallel()
	store := newSpy()
	queued := atomic.Int32{}
	var done sync.WaitGroup
	for i := range 8 {
		r := newRunner(t, runner.Options{Store: store})
		done.Go(func() {
			for e, err := range r.Stream(t.Context(), "t", runner.Text(fmt.Sprintf("message %d", i))) {
				if err != nil {
					t.Error(err)
				}
				if e.Kind == runner.EventQueued {
					queued.Add(1)
				}
			}
		})
	}
	done.Wait()
	lines := strings.Split(strings.TrimSpace(transcript(load(t, store, "t").Messages)), "\n")
	if len(lines) != 16 {
		t.Fatalf("%d messages, want 16:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	for i := 0; i < len(lines); i += 2 {
		said := strings.TrimPrefix(lines[i], "user: ")
		if lines[i+1] != "assistant: You said: "+said {
			t.Errorf("%q is answered by %q", lines[i], lines[i+1])
		}
	}
	if queued.Load() > 7 {
		t.Errorf("%d runs queued, at most 7 had to", queued.Load())
	}
	checkChain(t, store, "t")
}

// Leaving the range while it waits for the thread ends the waiting.
func TestLeavingTheQueue(t *testing.T) {
	t.Parallel()
	store := newSpy()
	lessor, _ := selvage.As[selvage.Leaser](store)
	if _, err := lessor.Acquire(t.Context(), "t", selvage.Owner{Name: "the other"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	for e, err := range newRunner(t, runner.Options{Store: store}).Stream(t.Context(), "t", runner.Text("hi")) {
		if e.Kind != runner.EventQueued || e.Note != "the other" || e.Text != "" || err != nil {
			t.Errorf("told %+v, %v", e, err)
		}
		break
	}
}

// Waiting for the thread ends with the context; a runner that rejects does not
// wait.
func TestBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newSpy()
		lessor, _ := selvage.As[selvage.Leaser](store)
		if _, err := lessor.Acquire(t.Context(), "t", selvage.Owner{Name: "the other"}, time.Hour); err != nil {
			t.Fatal(err)
		}
		_, err := newRunner(t, runner.Options{Store: store, OnActive: runner.Reject}).Run(t.Context(), "t", runner.Text("hi"))
		var busy *selvage.BusyError
		if !errors.As(err, &busy) || busy.Owner.Name != "the other" {
			t.Errorf("reject: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = newRunner(t, runner.Options{Store: store}).Run(ctx, "t", runner.Text("hi"))
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, selvage.ErrBusy) {
			t.Errorf("queue: %v, want the deadline and who was in the way", err)
		}
		if store.attempts != 0 {
			t.Error("something was appended")
		}
	})
}

// Runs on different threads go on at the same time.
func TestThreadsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRunner(t, runner.Options{Store: newSpy(), Tools: []tool.Tool{echoTool("echo", selvage.EffectOnce)}})
		began := time.Now()
		var done sync.WaitGroup
		for i := range 16 {
			done.Go(func() { mustRun(t, r, selvage.ThreadID(fmt.Sprintf("t%d", i)), "sleep 1h") })
			done.Go(func() {
				if _, err := r.Ask(t.Context(), runner.Text("sleep 1h")); err != nil {
					t.Error(err)
				}
			})
		}
		done.Wait()
		if took := time.Since(began); took != time.Hour {
			t.Errorf("32 runs of an hour took %s", took)
		}
	})
}
