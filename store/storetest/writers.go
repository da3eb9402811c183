package storetest

import (
	"errors"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

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
