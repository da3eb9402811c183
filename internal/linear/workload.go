// Package linear records what several clients do to a store and what they are
// answered, and judges whether one store that does one thing at a time could
// have answered the same: whether the history is linearizable.
//
// It holds for a store under faults too. An operation whose outcome nobody
// learned may have happened at any time after it was asked, or not at all.
package linear

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// Workload says what clients do. Every client draws what to do from a random
// source of its own, which Seed and the client's number determine.
type Workload struct {
	Clients int
	Threads int
	Ops     int // of each client
	Seed    uint64
	// Prefix begins the ids of threads, for workloads that share a store.
	Prefix string
	// FirstClient is the number of the first client, for workloads that are
	// parts of one.
	FirstClient int
	// Strict holds the store to it that what is unavailable was not done.
	Strict bool
	// Deadline bounds each operation. Zero means a minute.
	Deadline time.Duration
}

const (
	defaultDeadline = time.Minute
	// resends is how often an append that was not answered is sent again.
	resends = 200
	// sharedMessages is how many messages several sets bring.
	sharedMessages = 8
)

// The names of preconditions.
const (
	preAny      = "any"
	preExact    = "exact"
	preNew      = "new"
	preRecreate = "recreate"
)

// Record has the clients work at the same time, each on the store that open
// returns for it, and returns what happened.
func (w Workload) Record(ctx context.Context, open func(client int) selvage.Store) []Op {
	if w.Deadline == 0 {
		w.Deadline = defaultDeadline
	}
	parts := make([][]Op, w.Clients)
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i := range w.Clients {
		n := w.FirstClient + i
		c := &client{w: w, n: n, store: open(n), random: rand.New(rand.NewPCG(w.Seed, uint64(n))), versions: make(map[selvage.ThreadID]selvage.Version)}
		wg.Go(func() {
			<-begin
			for range w.Ops {
				c.step(ctx)
			}
			parts[i] = c.ops
		})
	}
	close(begin)
	wg.Wait()
	var all []Op
	for _, part := range parts {
		all = append(all, part...)
	}
	return all
}

// Look loads every thread once and returns what it saw: after all the rest,
// so that what was acknowledged and is not there is found missing.
func (w Workload) Look(ctx context.Context, s selvage.Store) []Op {
	if w.Deadline == 0 {
		w.Deadline = defaultDeadline
	}
	c := &client{w: w, n: -1, store: s, versions: make(map[selvage.ThreadID]selvage.Version)}
	for i := range w.Threads {
		c.load(ctx, w.thread(i))
	}
	return c.ops
}

func (w Workload) thread(i int) selvage.ThreadID {
	return selvage.ThreadID(w.Prefix + "linear-" + strconv.Itoa(i))
}

// epoch is what the clock of this process counts from. The clock goes on
// evenly, whatever becomes of the machine's.
var epoch = time.Now()

func clock() int64 { return epoch.UnixNano() + int64(time.Since(epoch)) }

// client is one of them.
type client struct {
	w        Workload
	n        int
	store    selvage.Store
	random   *rand.Rand
	versions map[selvage.ThreadID]selvage.Version // that it saw last
	sets     int
	ops      []Op
}

// step does one thing.
func (c *client) step(ctx context.Context) {
	id := c.w.thread(c.random.IntN(c.w.Threads))
	switch n := c.random.IntN(100); {
	case n < 35:
		c.load(ctx, id)
	case n < 40:
		c.delete(ctx, id)
	default:
		c.append(ctx, id)
	}
}

// draw makes an append up.
func (c *client) draw(id selvage.ThreadID) Op {
	c.sets++
	o := Op{Thread: id, Kind: Append, Set: fmt.Sprintf("set-%d-%d", c.n, c.sets), Counts: c.random.IntN(2) == 0}
	if c.random.IntN(4) == 0 {
		o.Shared = 1 + c.random.IntN(sharedMessages)
	}
	switch n := c.random.IntN(100); {
	case n < 40:
		o.Pre = preAny
	case n < 80 && c.versions[id] > 0:
		o.Pre, o.At = preExact, c.versions[id]
	case n < 90:
		o.Pre = preNew
	default:
		o.Pre = preRecreate
	}
	if !o.begins() && c.versions[id] > 1 && c.random.IntN(8) == 0 {
		o.Rewind, o.Shared, o.Counts = 1+selvage.Version(c.random.IntN(int(c.versions[id]))), 0, false
	}
	o.Counts = o.Counts || o.begins() && c.random.IntN(4) > 0
	return o
}

// append sends one set until it is answered.
func (c *client) append(ctx context.Context, id selvage.ThreadID) {
	o := c.draw(id)
	for n := range resends {
		if n > 0 && pause(ctx) != nil {
			return
		}
		sent := o
		c.call(ctx, &sent, func(ctx context.Context) error {
			r, err := c.store.Append(ctx, id, o.changes(), o.precondition())
			if err == nil {
				sent.Receipt, c.versions[id] = &r, r.Version
			}
			return err
		})
		if sent.Outcome != unknown && sent.Outcome != undone {
			return
		}
	}
}

// begins reports whether an append is to begin a life of its thread.
func (o *Op) begins() bool { return o.Pre == preNew || o.Pre == preRecreate }

// changes is the change set of an append.
func (o *Op) changes() selvage.ChangeSet {
	set := selvage.ChangeSet{ID: o.Set}
	if o.Rewind > 0 {
		set.Rewind = &o.Rewind
		return set
	}
	if o.Shared > 0 {
		set.Messages = append(set.Messages, message(sharedID(o.Shared)))
	}
	set.Messages = append(set.Messages, message(o.Set))
	switch {
	case o.Counts && o.begins():
		set.Patches = []selvage.StatePatch{{Ops: state.Patch{state.Set("/n", state.Int(1))}}}
	case o.Counts:
		set.Patches = []selvage.StatePatch{{Ops: state.Patch{state.Increment("/n", state.Int(1))}}}
	}
	return set
}

func message(id string) selvage.Message {
	return selvage.Message{ID: id, Role: selvage.RoleUser, Content: selvage.Text("hello")}
}

func sharedID(n int) string { return "shared-" + strconv.Itoa(n) }

func (o *Op) precondition() selvage.Precondition {
	switch o.Pre {
	case preExact:
		return selvage.Exact(o.At)
	case preNew:
		return selvage.New()
	case preRecreate:
		return selvage.Recreate()
	default:
		return selvage.Any()
	}
}

func (c *client) load(ctx context.Context, id selvage.ThreadID) {
	all := 1 << 20
	o := Op{Thread: id, Kind: Load}
	c.call(ctx, &o, func(ctx context.Context) error {
		h, err := c.store.Load(ctx, id, selvage.LoadOptions{Messages: &all})
		if err != nil {
			return err
		}
		o.Seen, c.versions[id] = seen(&h), h.Thread.Version
		return nil
	})
}

// seen is what matters of a loaded thread.
func seen(h *selvage.Head) *Seen {
	s := &Seen{Version: h.Thread.Version, Hash: h.Hash, NextSeq: h.NextSeq, Messages: make([]string, len(h.Messages))}
	for i := range h.Messages {
		s.Messages[i] = h.Messages[i].ID
	}
	if v, found := h.State.Get("/n"); found {
		s.Count, _ = strconv.ParseInt(v.String(), 10, 64) // what is no number is no count
	}
	return s
}

func (c *client) delete(ctx context.Context, id selvage.ThreadID) {
	o := Op{Thread: id, Kind: Delete}
	c.call(ctx, &o, func(ctx context.Context) error { return c.store.Delete(ctx, id, selvage.DeleteReject) })
}

// call does an operation and records it.
func (c *client) call(ctx context.Context, o *Op, do func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, c.w.Deadline)
	defer cancel()
	// A store that is fast would be done with one client before the next begins.
	runtime.Gosched()
	o.Client, o.Call = c.n, clock()
	err := do(ctx)
	o.Return = clock()
	o.Outcome = c.outcome(err)
	var conflict *selvage.ConflictError
	if errors.As(err, &conflict) {
		o.Actual, c.versions[o.Thread] = conflict.Actual, conflict.Actual
	}
	if err != nil {
		o.Error = err.Error()
	}
	c.ops = append(c.ops, *o)
}

// outcome names what an error means: that nobody knows, or what it says.
func (c *client) outcome(err error) string {
	switch {
	case err == nil:
		return ok
	case c.w.Strict && errors.Is(err, selvage.ErrUnavailable):
		return undone
	case errors.Is(err, selvage.ErrUnavailable), errors.Is(err, selvage.ErrUnknownOutcome),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return unknown
	default:
		return selvage.Code(err)
	}
}

// resendAfter is how long a client waits before it sends once more what was
// not answered.
const resendAfter = 20 * time.Millisecond

func pause(ctx context.Context) error {
	t := time.NewTimer(resendAfter)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Test records the workload, looks at what is left through the store of the
// first client, and fails the test if no one store could have answered so.
func (w Workload) Test(tb testing.TB, open func(client int) selvage.Store) {
	tb.Helper()
	w.Judge(tb, append(w.Record(tb.Context(), open), w.Look(tb.Context(), open(w.FirstClient))...))
}

// Judge fails the test if no one store could have answered the history, and
// tells how much of it was answered.
func (w Workload) Judge(tb testing.TB, history []Op) Tally {
	tb.Helper()
	tally := Count(history)
	tb.Logf("seed %d: %s", w.Seed, tally)
	if err := Check(history); err != nil {
		tb.Errorf("seed %d: %v", w.Seed, err)
	}
	return tally
}
