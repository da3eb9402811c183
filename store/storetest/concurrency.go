package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

func concurrencyPromises() []promise {
	return []promise{
		{"NineHundredCopies", "CONTRACT 2: a check inside the statement is not a guard under concurrency: 900 copies of one set make one version and 900 equal receipts.", nineHundredCopies},
		{"CopiesWithOtherContent", "CONTRACT 2: of sets that share an id one wins, under concurrency too; the others are already_exists.", copiesWithOtherContent},
		{"OneWinnerPerVersion", "ARCHITECTURE 1: of 16 writers at one version one wins, and the others learn who is ahead.", oneWinnerPerVersion},
		{"OneCreator", "CONTRACT 3: of 16 that create a thread one does.", oneCreator},
		{"AnyNeverLoses", "CONTRACT 3: Any is Exact at the version just validated, retried inside: no writer loses.", anyNeverLoses},
		{"ExactLoopsLoseNothing", "ARCHITECTURE 1: a second writer never loses what was acknowledged.", exactLoopsLoseNothing},
		{"DedupeUnderConcurrency", "CONTRACT 5: a message that many bring at once is kept once.", dedupeUnderConcurrency},
		{"LoadIsOnePoint", "ARCHITECTURE 3: Load answers one consistent point, also while others append.", loadIsOnePoint},
		{"OneOpenRunUnderConcurrency", "CONTRACT 18: at most one open run a thread: of 16 that begin one, one does.", oneOpenRunUnderConcurrency},
		{"UniqueRunUnderConcurrency", "CONTRACT 18: run ids are unique per tenant: of 16 threads that begin the same run, one does.", uniqueRunUnderConcurrency},
		{"AppendOrDelete", "CONTRACT 13: what was acknowledged before a delete is below its tombstone, and nothing is written above.", appendOrDelete},
		{"ChildOrDelete", "CONTRACT 14: no thread is left below a parent that was deleted meanwhile.", childOrDelete},
	}
}

// together runs n calls at once and returns their errors.
func together(n int, call func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = call(i)
		})
	}
	close(start)
	wg.Wait()
	return errs
}

// untilRefused repeats a step until it says that it was refused. Once over is
// set no step that begins later may go through.
func untilRefused(over *atomic.Bool, step func() (refused bool, err error)) error {
	for {
		late := over.Load()
		refused, err := step()
		if refused || err != nil {
			return err
		}
		if late {
			return errors.New("an append that began after the end went through")
		}
	}
}

// winner checks that exactly one call succeeded and that all others failed
// with the class, and returns which one did.
func (k *kit) winner(what string, errs []error, class error) int {
	k.Helper()
	won := -1
	wins := 0
	for i, err := range errs {
		if err == nil {
			won = i
			wins++
			continue
		}
		k.class(fmt.Sprintf("%s, number %d", what, i), err, class)
	}
	if wins != 1 {
		k.Fatalf("%s: %d of %d succeeded; want exactly 1", what, wins, len(errs))
	}
	return won
}

func nineHundredCopies(k *kit) {
	const n = 900
	id := k.create(patch(state.Set("/n", state.Int(0))))
	set := patch(state.Increment("/n", state.Int(1)))
	set.ID, set.Messages = "set-"+selvage.NewID(), []selvage.Message{say("", "hello"), say("", "world")}
	receipts := make([]selvage.Receipt, n)
	errs := together(n, func(i int) (err error) {
		pre := selvage.Any()
		if i%2 == 0 {
			pre = selvage.Exact(1)
		}
		receipts[i], err = k.store.Append(k.Context(), id, set, pre)
		return err
	})
	first := -1
	for i, err := range errs {
		switch {
		case err != nil:
			k.Fatalf("copy %d of %d failed: %v", i, n, err)
		case receipts[i].Replayed:
		case first >= 0:
			k.Fatalf("copies %d and %d both say that they were the first: versions %d and %d", first, i, receipts[first].Version, receipts[i].Version)
		default:
			first = i
		}
	}
	if first < 0 {
		k.Fatalf("%d copies all say that they are replays; want one that was written", n)
	}
	want := receipts[first]
	want.Replayed = true
	for i, r := range receipts {
		r.Replayed = true
		if encode(k, r) != encode(k, want) {
			k.Fatalf("copy %d answers the receipt %s; want the first one's, %s", i, encode(k, r), encode(k, want))
		}
	}
	h := k.load(id)
	if h.Thread.Version != 2 || len(h.Messages) != 2 || h.State.String() != `{"n":1}` {
		k.Errorf("after %d copies of one set the thread is at version %d with %d messages and state %s; want 2, 2 and {\"n\":1}", n, h.Thread.Version, len(h.Messages), h.State)
	}
}

func copiesWithOtherContent(k *kit) {
	const n = 16
	id := k.create(says("hello"))
	setID := "set-" + selvage.NewID()
	errs := together(n, func(i int) error {
		set := says(fmt.Sprint(i))
		set.ID = setID
		_, err := k.store.Append(k.Context(), id, set, selvage.Any())
		return err
	})
	won := k.winner("appending sets of one id", errs, selvage.ErrAlreadyExists)
	k.equal("messages", texts(k.load(id).Messages), []string{"hello", fmt.Sprint(won)})
}

func oneWinnerPerVersion(k *kit) {
	const n = 16
	id := k.create(says("hello"))
	for version := selvage.Version(1); version <= 10; version++ {
		errs := together(n, func(i int) error {
			_, err := k.store.Append(k.Context(), id, says(fmt.Sprint(i)), selvage.Exact(version))
			return err
		})
		won := k.winner(fmt.Sprintf("writing version %d", version+1), errs, selvage.ErrConflict)
		for _, err := range errs {
			var conflict *selvage.ConflictError
			if err != nil && (!errors.As(err, &conflict) || conflict.Expected != version || conflict.Actual != version+1) {
				k.Errorf("a loser of version %d learned %v; want a *ConflictError: expected %d, actual %d", version+1, err, version, version+1)
			}
		}
		h := k.load(id)
		if last := h.Messages[len(h.Messages)-1].Text(); h.Thread.Version != version+1 || last != fmt.Sprint(won) {
			k.Fatalf("version %d was won by writer %d; the thread is at %d and writer %s's message is the last", version+1, won, h.Thread.Version, last)
		}
	}
	k.verify(k.log(id))
}

func oneCreator(k *kit) {
	const n = 16
	for range 5 {
		id := newID()
		errs := together(n, func(i int) error {
			_, err := k.store.Append(k.Context(), id, says(fmt.Sprint(i)), selvage.New())
			return err
		})
		won := k.winner("creating one thread", errs, selvage.ErrAlreadyExists)
		k.equal("messages", texts(k.load(id).Messages), []string{fmt.Sprint(won)})
	}
}

func anyNeverLoses(k *kit) {
	const writers, each = 16, 20
	id := k.create(patch(state.Set("/n", state.Int(0))))
	got := make([][]selvage.Receipt, writers)
	errs := together(writers, func(w int) error {
		for i := range each {
			set := patch(state.Increment("/n", state.Int(1)))
			set.Messages = []selvage.Message{say(fmt.Sprintf("%d-%d", w, i), "hello")}
			r, err := k.store.Append(k.Context(), id, set, selvage.Any())
			if err != nil {
				return err
			}
			got[w] = append(got[w], r)
		}
		return nil
	})
	k.noErrors(errs)
	k.everyVersionOnce(id, got, 2)
	if want := fmt.Sprintf(`{"n":%d}`, writers*each); k.state(id, 0) != want {
		k.Errorf("after %d increments the state is %s; want %s", writers*each, k.state(id, 0), want)
	}
}

func (k *kit) noErrors(errs []error) {
	k.Helper()
	for i, err := range errs {
		if err != nil {
			k.Fatalf("writer %d failed: %v", i, err)
		}
	}
}

// everyVersionOnce checks that the receipts are those of the versions from the
// first on, each of one author, and that the log holds exactly them.
func (k *kit) everyVersionOnce(id selvage.ThreadID, got [][]selvage.Receipt, first selvage.Version) {
	k.Helper()
	author := make(map[selvage.Version]int)
	receipts := make(map[selvage.Version]selvage.Receipt)
	for w := range got {
		last := selvage.Version(0)
		for _, r := range got[w] {
			if other, taken := author[r.Version]; taken {
				k.Fatalf("version %d was acknowledged to writer %d and to writer %d", r.Version, other, w)
			}
			if r.Version <= last {
				k.Errorf("writer %d got version %d after version %d", w, r.Version, last)
			}
			author[r.Version], receipts[r.Version], last = w, r, r.Version
		}
	}
	log := k.log(id)
	if want := int(first) - 1 + len(receipts); len(log) != want {
		k.Fatalf("the log holds %d changes; want %d, of which %d were acknowledged to the writers", len(log), want, len(receipts))
	}
	for _, c := range log[first-1:] {
		r, acknowledged := receipts[c.Version]
		if !acknowledged || c.Hash != r.Hash || c.FirstSeq != r.FirstSeq || c.ID != r.ChangeID {
			k.Errorf("version %d of the log is %s; its receipt (acknowledged: %v) is %s", c.Version, encode(k, c), acknowledged, encode(k, r))
		}
	}
	k.verify(log)
}

func exactLoopsLoseNothing(k *kit) {
	const writers, each = 6, 10
	id := k.create(says("hello"))
	got := make([][]selvage.Receipt, writers)
	errs := together(writers, func(w int) error {
		version := selvage.Version(1)
		for tries, i := 0, 0; i < each; tries++ {
			if tries == 10_000 {
				return errors.New("conflicts went on and on")
			}
			r, err := k.store.Append(k.Context(), id, says(fmt.Sprintf("%d-%d", w, i)), selvage.Exact(version))
			var conflict *selvage.ConflictError
			switch {
			case err == nil:
				got[w], version = append(got[w], r), r.Version
				i++
			case !errors.As(err, &conflict):
				return err
			case conflict.Actual <= version:
				return fmt.Errorf("a conflict names version %d as the actual one, at version %d", conflict.Actual, version)
			default:
				version = conflict.Actual
			}
		}
		return nil
	})
	k.noErrors(errs)
	k.everyVersionOnce(id, got, 2)
}

func dedupeUnderConcurrency(k *kit) {
	const n = 16
	id := k.create(says("hello"))
	added := make([]int, n)
	errs := together(n, func(i int) error {
		r, err := k.store.Append(k.Context(), id, selvage.ChangeSet{Messages: []selvage.Message{say("same", fmt.Sprint(i)), say("", "own")}}, selvage.Any())
		added[i] = r.Added
		return err
	})
	k.noErrors(errs)
	both := 0
	for i, a := range added {
		if a == 2 {
			both++
		} else if a != 1 {
			k.Errorf("writer %d added %d messages; want its own, and one of all writers the shared one too", i, a)
		}
	}
	if h := k.load(id); both != 1 || len(h.Messages) != n+2 || h.NextSeq != n+3 {
		k.Errorf("a message that %d brought was added by %d, and there are %d messages, next seq %d; want 1, %d, %d", n, both, len(h.Messages), h.NextSeq, n+2, n+3)
	}
}

func loadIsOnePoint(k *kit) {
	const appends = 60
	run := newRunID()
	first := patch(state.Set("/n", state.Int(1)))
	first.Messages, first.Runs = []selvage.Message{say("", "1")}, []selvage.RunUpdate{{ID: run, Status: selvage.RunRunning, Steps: ptr(1)}}
	id := k.create(first)
	stop := make(chan struct{})
	errs := together(3, func(i int) error {
		if i > 0 {
			return k.watch(id, stop)
		}
		defer close(stop)
		for v := 2; v <= appends; v++ {
			set := patch(state.Increment("/n", state.Int(1)))
			set.Messages, set.Runs = []selvage.Message{say("", fmt.Sprint(v))}, []selvage.RunUpdate{{ID: run, Status: selvage.RunRunning, Steps: &v}}
			if _, err := k.store.Append(k.Context(), id, set, selvage.Any()); err != nil {
				return err
			}
		}
		return nil
	})
	k.noErrors(errs)
}

// watch loads a thread, of which each version adds one message, one to /n and
// one to the steps of its run, until told to stop.
func (k *kit) watch(id selvage.ThreadID, stop <-chan struct{}) error {
	seen := selvage.Version(0)
	for {
		h, err := k.store.Load(k.Context(), id, selvage.LoadOptions{})
		if err != nil {
			return err
		}
		v := h.Thread.Version
		want := fmt.Sprintf(`{"n":%d}`, v)
		if h.State.String() != want || len(h.Messages) != int(v) || h.NextSeq != int64(v)+1 || h.OpenRun == nil || h.OpenRun.Steps != int(v) {
			return fmt.Errorf("a load at version %d has state %s, %d messages, next seq %d, run %+v; want one point in time", v, h.State, len(h.Messages), h.NextSeq, h.OpenRun)
		}
		if v < seen {
			return fmt.Errorf("a load at version %d followed one at version %d", v, seen)
		}
		seen = v
		select {
		case <-stop:
			return nil
		default:
		}
	}
}

func oneOpenRunUnderConcurrency(k *kit) {
	const n = 16
	for range 5 {
		id := k.create(says("hello"))
		runs := make([]selvage.RunID, n)
		errs := together(n, func(i int) error {
			runs[i] = newRunID()
			_, err := k.store.Append(k.Context(), id, runSet(status(runs[i], selvage.RunRunning)), selvage.Any())
			return err
		})
		won := k.winner("beginning a run", errs, selvage.ErrInvalid)
		if h := k.load(id); h.Thread.OpenRunID != runs[won] || h.Thread.Version != 2 {
			k.Errorf("the open run is %q at version %d; want the winner's, %q, at 2", h.Thread.OpenRunID, h.Thread.Version, runs[won])
		}
	}
}

func uniqueRunUnderConcurrency(k *kit) {
	const n = 16
	for range 3 {
		run := newRunID()
		ids := make([]selvage.ThreadID, n)
		for i := range ids {
			ids[i] = k.create(says("hello"))
		}
		errs := together(n, func(i int) error {
			_, err := k.store.Append(k.Context(), ids[i], runSet(status(run, selvage.RunRunning)), selvage.Any())
			return err
		})
		won := k.winner("beginning one run on different threads", errs, selvage.ErrInvalid)
		for i, id := range ids {
			if h := k.load(id); (h.OpenRun != nil) != (i == won) {
				k.Errorf("thread %d has the open run %v, and thread %d has won", i, h.OpenRun, won)
			}
		}
	}
}

func appendOrDelete(k *kit) {
	for range 5 {
		id := k.create(says("hello"))
		const writers = 4
		last := make([]selvage.Version, writers)
		var over atomic.Bool
		errs := together(writers+1, func(i int) error {
			if i == writers {
				defer over.Store(true)
				return k.store.Delete(k.Context(), id, selvage.DeleteReject)
			}
			return untilRefused(&over, func() (bool, error) {
				r, err := k.store.Append(k.Context(), id, says("more"), selvage.Any())
				if errors.Is(err, selvage.ErrGone) {
					return true, nil
				}
				if err == nil {
					last[i] = r.Version
				}
				return false, err
			})
		})
		k.noErrors(errs)
		tombstone := k.append(id, selvage.ChangeSet{}, selvage.Recreate()).Version - 1
		highest := selvage.Version(1)
		for i, v := range last {
			highest = max(highest, v)
			if v >= tombstone {
				k.Errorf("writer %d was told that it wrote version %d; the thread was deleted at %d", i, v, tombstone)
			}
		}
		if tombstone != highest+1 {
			k.Errorf("the last append acknowledged made version %d, the delete version %d; want no gap", highest, tombstone)
		}
	}
}

func childOrDelete(k *kit) {
	for i := range 10 {
		root := k.create(says("root"))
		strategy := []selvage.DeleteStrategy{selvage.DeleteCascade, selvage.DeleteDetach}[i%2]
		const n = 4
		ids := make([]selvage.ThreadID, n)
		for i := range ids {
			ids[i] = newID()
		}
		errs := together(n+1, func(i int) error {
			if i == n {
				return k.store.Delete(k.Context(), root, strategy)
			}
			_, err := k.store.Append(k.Context(), ids[i], under(root), selvage.New())
			return err
		})
		if errs[n] != nil {
			k.Fatalf("delete (%s) failed: %v", strategy, errs[n])
		}
		for i, err := range errs[:n] {
			if err != nil {
				k.class("creating a child of a thread that is deleted", err, selvage.ErrInvalid)
			}
			h, err := k.store.Load(k.Context(), ids[i], selvage.LoadOptions{})
			if err == nil && h.Thread.ParentID != "" {
				k.Errorf("after a delete (%s) of its parent a child is still below it", strategy)
			}
		}
	}
}
