package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/selvagehq/selvage"
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
