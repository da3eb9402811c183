package runner_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// crowding counts how many of its calls are made at once. None returns before
// as many as may have come.
type crowding struct {
	mu        sync.Mutex
	now, peak int           // guarded by mu
	hold      chan struct{} // closed when all may return
}

func (c *crowding) tool() tool.Tool {
	return tool.Func("crowd", "", func(context.Context, struct{}) (string, error) {
		c.mu.Lock()
		c.now++
		c.peak = max(c.peak, c.now)
		c.mu.Unlock()
		<-c.hold
		c.mu.Lock()
		c.now--
		c.mu.Unlock()
		return "here", nil
	}, tool.Options{Effect: selvage.EffectNone})
}

// So many children of a run are led at once and no more; the others queue, and
// set nothing aside before their turn. All of them end.
func TestChildrenQueue(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ most, peak int }{
		"by default":    {0, runner.DefaultMaxChildren},
		"two":           {2, 2},
		"one":           {1, 1},
		"without bound": {-1, 12},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, crowd := newSpy(), &crowding{hold: make(chan struct{})}
				opts := runner.Options{Store: store, Tools: []tool.Tool{spawning(t), crowd.tool()}, MaxChildren: tt.most,
					ToolCalls: selvage.ToolCallsParallel, Limits: selvage.Limits{Spend: new(selvage.Dollar)}}
				say := "call " + strings.TrimSuffix(strings.Repeat(`spawn_agent {"prompt":"call crowd {}","max_spend":"0.01"} && `, 12), " && ")
				var done sync.WaitGroup
				done.Go(func() { mustRun(t, newRunner(t, opts), "t", say) })
				time.Sleep(time.Minute) // all that may are inside: those that race for the budget try again within milliseconds
				synctest.Wait()
				run := load(t, store, "t").OpenRun
				if s := sheetOf(t, store, "t", run.ID); crowd.peak != tt.peak || len(s.Open()) != tt.peak {
					t.Errorf("%d at once, %d hold a part of the budget, want %d", crowd.peak, len(s.Open()), tt.peak)
				}
				close(crowd.hold)
				done.Wait()
				if got := results(t, store, "t"); len(got) != 12 || strings.Join(got, "") != strings.Repeat("Done: here", 12) {
					t.Errorf("results %q", got)
				}
				if crowd.peak != tt.peak {
					t.Errorf("%d at once, want %d", crowd.peak, tt.peak)
				}
			})
		})
	}
}

// A run that is cancelled while its children queue begins none of those.
func TestCancelledWhileChildrenQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		store := newSpy()
		opts := runner.Options{Store: store, Tools: []tool.Tool{spawning(t)}, MaxChildren: 1, ToolCalls: selvage.ToolCallsParallel}
		var done sync.WaitGroup
		done.Go(func() {
			_, _ = newRunner(t, opts).Run(ctx, "t", runner.Text(`call spawn_agent {"prompt":"sleep 1h"} && spawn_agent {"prompt":"sleep 1h"}`))
		})
		time.Sleep(time.Minute)
		synctest.Wait()
		run := load(t, store, "t").OpenRun.ID
		cancel()
		done.Wait()
		below := spawnedBy(t, store, run)
		if len(below) != 1 || below[0].Outcome == nil || below[0].Outcome.Kind != selvage.OutcomeCancelled {
			t.Errorf("children %+v", below)
		}
		if s := sheetOf(t, store, "t", run); len(s.Children) != 1 || len(s.Open()) != 0 {
			t.Errorf("budget %+v", s)
		}
	})
}
