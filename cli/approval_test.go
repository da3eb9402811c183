package cli

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/store/sqlite"
)

// command is a command of its own on a store whose clock shows a time.
func command(t *testing.T, dir string, clock time.Time) (*conversation, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	a, err := newApp(Options{Args: []string{}, Env: []string{"HOME=/", "USER=ann", "SELVAGE_MODEL=sim/echo", "SELVAGE_TOOLS_USE=shell"}, Dir: dir,
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.prepare(a.rootCommand()); err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, "t.db"), sqlite.Options{Now: func() time.Time { return clock }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	c := &conversation{app: a, store: store, id: "t", show: newTeller(a)}
	if c.made, _, err = a.resolveMakeup(nil); err != nil {
		t.Fatal(err)
	}
	if err := c.assemble(t.Context(), runner.Queue); err != nil {
		t.Fatal(err)
	}
	return c, &out
}

// TestApprovedADayLater: the process that began a run is no more, and the clock
// has jumped far beyond every lease. The decision finishes the same run, once.
func TestApprovedADayLater(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	first, _ := command(t, dir, now)
	if err := first.turn(t.Context(), `call shell {"command":"echo done"}`); classify(err).exit != exitWaiting {
		t.Fatalf("turn = %v; want it to wait", err)
	}
	run, tickets, err := first.waitingRun(t.Context())
	if err != nil || run == nil || len(tickets) != 1 {
		t.Fatalf("waiting run = %v, %v, %v", run, tickets, err)
	}
	// The process dies holding the lease of the thread, as one on another
	// machine may: nobody here can see that it is dead.
	leaser, _ := selvage.As[selvage.Leaser](first.store)
	if _, err := leaser.Acquire(t.Context(), "t", selvage.Owner{Name: "elsewhere", Host: "another", PID: 1}, time.Minute); err != nil {
		t.Fatal(err)
	}
	approve := func(c *conversation) (selvage.Run, error) {
		t.Helper()
		d := &deciding{app: c.app, decision: selvage.Decision{Action: selvage.DecisionResume}, fits: func(*ticketDocument) bool { return true }}
		was, err := findRun(t.Context(), c.store, run.ID)
		if err == nil {
			err = d.decide(t.Context(), c.store, was)
		}
		is, findErr := findRun(t.Context(), c.store, run.ID)
		if findErr != nil {
			t.Fatal(findErr)
		}
		return *is, err
	}
	later, told := command(t, dir, now.Add(24*time.Hour))
	is, err := approve(later)
	if err != nil || is.Outcome == nil || is.Outcome.Kind != selvage.OutcomeCompleted || !strings.Contains(told.String(), "Done: done\n") {
		t.Fatalf("approve = %v, run %+v, told %q; want it completed", err, is.Outcome, told)
	}
	version := func() selvage.Version {
		head, err := bareHead(t.Context(), later.store, "t")
		if err != nil {
			t.Fatal(err)
		}
		return head.Thread.Version
	}
	before := version()
	again, told := command(t, dir, now.Add(48*time.Hour))
	if _, err := approve(again); err != nil || !strings.Contains(told.String(), "already decided: shell ") || !strings.Contains(told.String(), " by ann at ") {
		t.Errorf("second approve = %v, told %q", err, told)
	}
	if after := version(); after != before {
		t.Errorf("a second approve made version %d of %d", after, before)
	}
}

// TestApprovedWhereItIsLed: while a live process leads the thread, a decision is
// recorded and the run is left to it.
func TestApprovedWhereItIsLed(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	c, told := command(t, dir, now)
	if err := c.turn(t.Context(), `call shell {"command":"echo done"}`); classify(err).exit != exitWaiting {
		t.Fatalf("turn = %v; want it to wait", err)
	}
	run, _, err := c.waitingRun(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	leaser, _ := selvage.As[selvage.Leaser](c.store)
	lease, err := leaser.Acquire(t.Context(), "t", selvage.Owner{Name: "elsewhere", Host: "another", PID: 1}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	d := &deciding{app: c.app, decision: selvage.Decision{Action: selvage.DecisionResume}, fits: func(*ticketDocument) bool { return true }}
	if err := d.decide(t.Context(), c.store, run); err != nil || !strings.Contains(told.String(), "is led by elsewhere (pid 1), and goes on there") {
		t.Fatalf("approve = %v, told %q", err, told)
	}
	is, err := findRun(t.Context(), c.store, run.ID)
	if err != nil || is.Status != selvage.RunWaiting {
		t.Fatalf("run %+v, %v; want it untouched", is, err)
	}
	if err := leaser.Release(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	told.Reset()
	if err := c.resume(t.Context(), c.store, is, going{}); err != nil || !strings.Contains(told.String(), "Done: done\n") {
		t.Errorf("resume = %v, told %q", err, told)
	}
}
