package sqlite_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/soak"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/inmem"
	"github.com/selvagehq/selvage/store/sqlite"
)

// TestDifferential does the same random things to two stores on one file, some
// of whose commits fail, and to a store in memory, and compares all they say.
func TestDifferential(t *testing.T) {
	t.Parallel()
	for seed := range uint64(soak.Times(4)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			newTwins(t, seed).run(200)
		})
	}
}

// twins are two stores of one file, and what they have to be like.
type twins struct {
	t      *testing.T
	seed   uint64
	dice   *rand.Rand
	clock  time.Time
	files  [2]*sqlite.Store
	model  *inmem.Store
	ids    []selvage.ThreadID
	sent   []sentSet
	leases [][2]selvage.Lease // of the files and of the model
}

type sentSet struct {
	id  selvage.ThreadID
	set selvage.ChangeSet
}

func newTwins(t *testing.T, seed uint64) *twins {
	w := &twins{t: t, seed: seed, dice: rand.New(rand.NewPCG(seed, 7)), clock: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		ids: []selvage.ThreadID{"a", "b", "c", "d"}}
	now := func() time.Time { return w.clock }
	path := filepath.Join(t.TempDir(), "selvage.db")
	for i := range w.files {
		opts := sqlite.Options{Durability: sqlite.Ephemeral, Now: now}
		if w.rarely(3) {
			opts.CacheBytes = 3000 // room for one thread
		}
		w.files[i] = open(t, path, opts)
		t.Cleanup(func() { closeStore(t, w.files[i]) })
	}
	w.model = inmem.New(inmem.Options{Now: now})
	return w
}

func (w *twins) rarely(one int) bool { return w.dice.IntN(one) == 0 }

func oneOf[T any](w *twins, all ...T) T { return all[w.dice.IntN(len(all))] }

// outcome is what a call came to.
type outcome struct {
	value any
	err   error
}

func (o outcome) String() string {
	if o.err != nil {
		return selvage.Code(o.err)
	}
	return fmt.Sprintf("%+v", o.value)
}

func (w *twins) run(steps int) {
	w.t.Helper()
	for step := range steps {
		w.clock = w.clock.Add(time.Duration(w.dice.IntN(3)) * time.Millisecond)
		what, got, want := w.step(step)
		if got.String() != want.String() {
			w.t.Fatalf("step %d, %.300s:\n%s %v\nwant\n%s", step, what, got, got.err, want)
		}
		if step%10 == 9 || got.err == nil && w.rarely(4) {
			for _, id := range w.ids {
				w.compare(w.files[step%2], id, fmt.Sprintf("step %d, %.300s", step, what))
			}
		}
	}
	w.checkOrphans()
}

// step does one thing.
func (w *twins) step(step int) (what string, got, want outcome) {
	id, s := oneOf(w, w.ids...), oneOf(w, w.files[:]...)
	ctx := w.t.Context()
	switch n := w.dice.IntN(40); {
	case n < 3:
		strategy := oneOf(w, selvage.DeleteReject, selvage.DeleteDetach, selvage.DeleteCascade)
		return fmt.Sprintf("delete %s, %s", id, strategy), outcome{err: s.Delete(ctx, id, strategy)}, outcome{err: w.model.Delete(ctx, id, strategy)}
	case n < 6:
		got, want = w.acquire(s, id)
		return "acquire " + string(id), got, want
	case n < 8 && len(w.leases) > 0:
		l := oneOf(w, w.leases...)
		return "release", outcome{err: s.Release(ctx, l[0])}, outcome{err: w.model.Release(ctx, l[1])}
	case n < 10 && len(w.leases) > 0:
		l := oneOf(w, w.leases...)
		_, got.err = s.Renew(ctx, l[0], 5*time.Millisecond)
		_, want.err = w.model.Renew(ctx, l[1], 5*time.Millisecond)
		return "renew", got, want
	case n == 10:
		s.RestNow()
		return "rest", got, want
	default:
		return w.append(s, id, step)
	}
}

func (w *twins) acquire(s *sqlite.Store, id selvage.ThreadID) (got, want outcome) {
	owner := selvage.Owner{Name: "somebody"}
	var lease [2]selvage.Lease
	lease[0], got.err = s.Acquire(w.t.Context(), id, owner, 5*time.Millisecond)
	lease[1], want.err = w.model.Acquire(w.t.Context(), id, owner, 5*time.Millisecond)
	if got.err == nil && want.err == nil {
		w.leases = append(w.leases, lease)
	}
	got.value, want.value = fmt.Sprint(lease[0].Epoch, lease[0].Until, lease[0].Took), fmt.Sprint(lease[1].Epoch, lease[1].Until, lease[1].Took)
	return got, want
}

// append appends a set, new or sent before, and retries it if its commit
// failed.
func (w *twins) append(s *sqlite.Store, id selvage.ThreadID, step int) (what string, got, want outcome) {
	ctx := w.t.Context()
	head, err := w.model.Load(ctx, id, selvage.LoadOptions{})
	if err != nil && !errors.Is(err, selvage.ErrNotFound) {
		w.t.Fatal(err)
	}
	set, pre := w.set(&head, step), w.precondition(head.Thread.Version)
	if len(w.sent) > 0 && w.rarely(5) {
		old := oneOf(w, w.sent...)
		if set = old.set; !w.rarely(3) {
			id = old.id
		}
		if w.rarely(5) {
			set.Messages = append(set.Messages[:len(set.Messages):len(set.Messages)], selvage.UserText("other"))
		}
	} else {
		w.sent = append(w.sent, sentSet{id, set})
	}
	moments := []sqlite.Moment{sqlite.BeforeCommit, sqlite.AfterCommit}
	fails := w.dice.IntN(12)
	if fails < len(moments) {
		failAt(s, moments[fails])
	}
	r, err := s.Append(ctx, id, set, pre)
	s.Probe(nil)
	again := fails < len(moments) && (errors.Is(err, selvage.ErrUnknownOutcome) || errors.Is(err, selvage.ErrUnavailable))
	if again {
		r, err = oneOf(w, w.files[:]...).Append(ctx, id, set, pre)
	}
	m, modelErr := w.model.Append(ctx, id, set, pre)
	if again {
		r.Replayed, m.Replayed = false, false
	}
	r.Hash, m.Hash = selvage.Hash{}, selvage.Hash{} // salted
	return fmt.Sprintf("append to %s, %v %+v", id, pre, set), outcome{r, err}, outcome{m, modelErr}
}

func (w *twins) precondition(at selvage.Version) selvage.Precondition {
	switch k := w.dice.IntN(6); {
	case at == 0:
		return oneOf(w, selvage.New(), selvage.Recreate(), selvage.Any())
	case k < 3:
		return selvage.Exact(at)
	case k == 3:
		return selvage.Exact(max(at+selvage.Version(w.dice.IntN(3))-1, 0))
	default:
		return selvage.Any()
	}
}

// set makes a change set for a thread.
func (w *twins) set(head *selvage.Head, step int) (set selvage.ChangeSet) {
	set.ID = oneOf(w, fmt.Sprintf("s-%d-%d", w.seed, step), selvage.NewID())
	for range w.dice.IntN(4) {
		m := selvage.UserText("x")
		m.ID = oneOf(w, "", fmt.Sprint("m", w.dice.IntN(12)), fmt.Sprintf("019a0000-0000-7000-8000-%012d", w.dice.IntN(12)))
		if w.rarely(5) {
			m.Visibility = selvage.VisibleInternal
		}
		set.Messages = append(set.Messages, m)
	}
	switch {
	case w.rarely(3):
		set.Patches = []selvage.StatePatch{{Ops: state.Patch{state.Set(state.At("k"+fmt.Sprint(w.dice.IntN(3))), state.Int(int64(step)))}}}
		if w.rarely(4) {
			set.Patches = append(set.Patches, selvage.StatePatch{Ops: state.Patch{state.Increment(state.At("k0"), state.Int(1))}})
		}
	case w.rarely(12):
		set.Snapshot = &state.Document{}
	}
	for range w.dice.IntN(3) {
		set.Runs = append(set.Runs, w.runUpdate(head.OpenRun))
	}
	if w.rarely(4) {
		status := oneOf(w, selvage.CallStarted, selvage.CallSucceeded, selvage.CallSuspended, selvage.CallFailed)
		set.Calls = []selvage.CallUpdate{{CallID: fmt.Sprint("c", w.dice.IntN(10)), Name: "n", Status: status}}
	}
	if w.rarely(6) {
		parent, title := oneOf(w, append(w.ids, "")...), fmt.Sprint("title ", step)
		set.Thread = &selvage.ThreadUpdate{ParentID: &parent, Title: &title}
	}
	if w.rarely(6) {
		to := max(1, head.Thread.Version-selvage.Version(w.dice.IntN(6))) + selvage.Version(w.dice.IntN(8)/7)
		set.Rewind, set.Messages, set.Patches, set.Snapshot, set.Calls = &to, nil, nil, nil, nil
		if set.Runs = nil; w.rarely(10) {
			set.Messages = []selvage.Message{selvage.UserText("not with a rewind")}
		}
	}
	if len(w.leases) > 0 && w.rarely(3) {
		l := oneOf(w, w.leases...)[0]
		set.Fence = l.Fence()
	}
	return set
}

func (w *twins) runUpdate(open *selvage.Run) selvage.RunUpdate {
	u := selvage.RunUpdate{ID: selvage.RunID(fmt.Sprint("r", w.dice.IntN(8)))}
	if open != nil && !w.rarely(3) {
		u.ID = open.ID
	}
	u.Status = oneOf(w, selvage.RunCreated, selvage.RunRunning, selvage.RunWaiting, selvage.RunDone)
	switch u.Status {
	case selvage.RunWaiting:
		u.Waiting = &selvage.Waiting{Reason: selvage.WaitApproval}
	case selvage.RunDone:
		u.Outcome = &selvage.Outcome{Kind: selvage.OutcomeCompleted}
	}
	return u
}
