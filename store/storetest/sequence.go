package storetest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// sequencePromises compare a store with the model over random sequences.
func sequencePromises(cfg Config) []promise {
	const rule = "ARCHITECTURE 1: every backend means the same thing: whatever is done in whatever order, each answer is the model's"
	var all []promise
	for _, seed := range append([]uint64{1, 2, 3, 4, 5, 6}, cfg.Seeds...) {
		all = append(all, promise{fmt.Sprintf("Seed%d", seed), fmt.Sprintf("%s (seed %d).", rule, seed),
			func(k *kit) {
				(&sequence{kit: k.alone(), random: rand.New(rand.NewPCG(seed, 0)), model: newModel()}).play(200)
			}})
	}
	return all
}

// sequence is one random sequence under way: a store, and what it should be.
type sequence struct {
	*kit
	random *rand.Rand
	model  *model
	step   int
	// rewinds are how many steps of a hundred are rewinds.
	rewinds int
}

// names are few, so that things meet.
func (s *sequence) name(prefix string, n int) string {
	return fmt.Sprintf("%s%d", prefix, s.random.IntN(n))
}

func (s *sequence) thread() selvage.ThreadID { return selvage.ThreadID(s.name("thread", 5)) }

func (s *sequence) chance(percent int) bool { return s.random.IntN(100) < percent }

func oneOf[T any](s *sequence, choices ...T) T { return choices[s.random.IntN(len(choices))] }

func (s *sequence) play(steps int) {
	for s.step = range steps {
		switch n := s.random.IntN(100); {
		case n < 4:
			s.deleteSome()
		case n < 12:
			s.sendAgain()
		case n < 22:
			s.lease()
		case n < 22+s.rewinds:
			s.rewindSome()
		default:
			s.appendSome()
		}
		if s.chance(30) {
			s.compare(s.thread())
		}
		if s.chance(10) {
			s.compareLists()
		}
		if s.reopen != nil && s.chance(2) {
			s.kit = s.restart()
		}
		if s.Failed() {
			s.Fatalf("step %d of %d went wrong; the sequence ends here", s.step, steps)
		}
	}
	for i := range 5 {
		s.compare(selvage.ThreadID(fmt.Sprintf("thread%d", i)))
	}
	s.compareLists()
}

// precondition is mostly one that holds.
func (s *sequence) precondition(id selvage.ThreadID) selvage.Precondition {
	t := s.model.threads[id]
	if s.chance(15) {
		return oneOf(s, selvage.Any(), selvage.New(), selvage.Recreate(), selvage.Exact(selvage.Version(s.random.IntN(9))))
	}
	switch {
	case t == nil:
		return selvage.New()
	case t.deleted:
		return selvage.Recreate()
	case s.chance(50):
		return selvage.Exact(t.version)
	default:
		return selvage.Any()
	}
}

// set makes a random change set and tells its ops in the model's words.
func (s *sequence) set(id selvage.ThreadID) (selvage.ChangeSet, []modelOp) {
	set := selvage.ChangeSet{ID: fmt.Sprintf("set%d", s.step)}
	if epoch := s.model.lease(id).epoch; epoch > 0 && s.chance(30) {
		set.Fence = &selvage.Fence{Epoch: epoch - int64(s.random.IntN(5)/3)} // or an older one
	}
	if s.chance(30) {
		set.RunID = selvage.RunID(s.name("run", 5))
	}
	for range s.random.IntN(4) {
		m := say("", fmt.Sprintf("step %d", s.step))
		if s.chance(40) {
			m.ID = s.name("message", 30)
		}
		if s.chance(30) {
			m.Visibility = selvage.VisibleInternal
		}
		if s.chance(20) {
			m.RunID = selvage.RunID(s.name("run", 5))
		}
		set.Messages = append(set.Messages, m)
	}
	var ops []modelOp
	for range s.random.IntN(3) {
		op := modelOp{oneOf(s, state.OpSet, state.OpSet, state.OpDelete, state.OpIncrement, state.OpAppend), s.name("key", 4), int64(s.random.IntN(100))}
		if op.kind != state.OpIncrement && s.chance(20) {
			op.value = "text"
		}
		if op.kind == state.OpDelete {
			op.value = nil
		}
		ops = append(ops, op)
		set.Patches = append(set.Patches, selvage.StatePatch{Ops: state.Patch{op.real()}})
	}
	if s.chance(30) {
		run := selvage.RunID(fmt.Sprintf("run-of-%s-%d", id, s.random.IntN(3)))
		if open := s.model.openRun(id); open != nil && s.chance(70) {
			run = open.id
		}
		set.Runs = []selvage.RunUpdate{status(run, oneOf(s, selvage.RunCreated, selvage.RunRunning, selvage.RunWaiting, selvage.RunDone))}
	}
	if s.chance(30) {
		set.Thread = &selvage.ThreadUpdate{}
		if s.chance(50) {
			set.Thread.Title = ptr(s.name("title", 3))
		}
		if s.chance(50) {
			set.Thread.UserID = ptr(s.name("user", 3))
		}
		if s.chance(80) {
			set.Thread.ParentID = ptr(oneOf(s, "", s.thread(), s.thread()))
		}
	}
	return set, ops
}

func (s *sequence) appendSome() {
	id := s.thread()
	set, ops := s.set(id)
	s.submit(id, set, ops)
}

// rewindSome goes back to a version, mostly one that can be gone back to.
func (s *sequence) rewindSome() {
	id := s.thread()
	set := selvage.ChangeSet{ID: fmt.Sprintf("set%d", s.step)}
	if t := s.model.threads[id]; t != nil && s.model.openRun(id) != nil && s.chance(80) {
		set.Runs = []selvage.RunUpdate{done(string(s.model.openRun(id).id))}
		s.submit(id, set, nil)
		set = selvage.ChangeSet{ID: set.ID + "-rewind"}
	}
	last := selvage.Version(3)
	if t := s.model.threads[id]; t != nil {
		last = t.version
	}
	to := selvage.Version(s.random.Int64N(int64(last)+2)) + 1
	if s.chance(50) {
		to = max(1, last-selvage.Version(s.random.IntN(5)))
	}
	set.Rewind = &to
	if s.chance(20) {
		set.Thread = &selvage.ThreadUpdate{Title: ptr(s.name("title", 3))}
	}
	s.submit(id, set, nil)
}

// submit appends a set and compares what comes of it.
func (s *sequence) submit(id selvage.ThreadID, set selvage.ChangeSet, ops []modelOp) {
	pre := s.precondition(id)
	want := s.model.expect(id, &set, ops, pre)
	r, err := s.store.Append(s.Context(), id, set, pre)
	what := fmt.Sprintf("step %d: append to %s with precondition %s: %s", s.step, id, pre, encode(s, set))
	if want != nil {
		s.class(what, err, want)
		return
	}
	if err != nil {
		s.Fatalf("%s failed: %v; want it accepted", what, err)
	}
	first := int64(1)
	if t := s.model.threads[id]; t != nil {
		first = t.nextSeq
	}
	s.model.accept(id, set, ops, r)
	t := s.model.threads[id]
	if r.Version != t.version || r.FirstSeq != first || r.LastSeq() != t.nextSeq-1 || r.Added+len(r.Dropped) != len(set.Messages) {
		s.Errorf("%s answers %s; want version %d and seqs %d to %d", what, encode(s, r), t.version, first, t.nextSeq-1)
	}
}

// sendAgain repeats a set that was accepted some time.
func (s *sequence) sendAgain() {
	id := s.thread()
	if !s.model.exists(id) {
		return
	}
	sets := s.model.threads[id].sets
	if len(sets) == 0 {
		return
	}
	old := sets[s.random.IntN(len(sets))]
	s.replay(id, old.set, oneOf(s, selvage.Any(), selvage.New(), selvage.Exact(7)), old.receipt)
}

// lease acquires a lease, or gives one back.
func (s *sequence) lease() {
	id := s.thread()
	known := s.model.lease(id)
	if known.held != nil && s.chance(40) {
		if err := s.leaser().Release(s.Context(), *known.held); err != nil {
			s.Fatalf("step %d: release the lease of %s failed: %v", s.step, id, err)
		}
		known.held = nil
		return
	}
	t := s.model.threads[id]
	l, err := s.leaser().Acquire(s.Context(), id, elsewhere("somebody"), time.Hour)
	what := fmt.Sprintf("step %d: acquire the lease of %s", s.step, id)
	switch {
	case t != nil && t.deleted:
		s.class(what, err, selvage.ErrGone)
	case known.held != nil:
		s.class(what, err, selvage.ErrBusy)
	case err != nil:
		s.Fatalf("%s failed: %v; want it acquired", what, err)
	default:
		if l.Epoch <= known.epoch {
			s.Errorf("%s answers epoch %d after %d; want a higher one", what, l.Epoch, known.epoch)
		}
		*known = modelLease{l.Epoch, &l}
	}
}

func (s *sequence) deleteSome() {
	id := s.thread()
	for s.model.exists(id) && s.model.threads[id].parent != "" && s.chance(70) {
		id = s.model.threads[id].parent // what has much below it
	}
	strategy := oneOf(s, selvage.DeleteReject, selvage.DeleteDetach, selvage.DeleteCascade)
	want := s.model.delete(id, strategy)
	err := s.store.Delete(s.Context(), id, strategy)
	what := fmt.Sprintf("step %d: delete %s (%s)", s.step, id, strategy)
	if want != nil {
		s.class(what, err, want)
	} else if err != nil {
		s.Fatalf("%s failed: %v; want it deleted", what, err)
	}
}
