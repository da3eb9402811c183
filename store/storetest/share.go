package storetest

import (
	"errors"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// sharePromises hold for stores that several processes use at once.
func sharePromises() []promise {
	const rule = "SURFACE 2: two processes may use one store at once"
	return []promise{
		{"EachSeesTheOther", rule + "; a load observes every append that returned before it, whoever appended.", eachSeesTheOther},
		{"OneChain", rule + ": versions stay exact, and nothing that was acknowledged is lost.", oneChain},
		{"OneWinnerAcross", rule + ": of writers at one version one wins, wherever they are.", oneWinnerAcross},
		{"OneEffectAcross", rule + ": the same set sent through both has one effect.", oneEffectAcross},
		{"OneLeaseAcross", rule + ", and they never hold one thread's lease both.", oneLeaseAcross},
		{"FencedAcross", rule + ": a take-over through one fences the writer of the other.", fencedAcross},
		{"ZombieAcross", rule + ": a writer who was taken over is refused also if all it knows is from before.", zombieAcross},
		{"CursorsAreShared", rule + ": a list begun in one goes on in the other.", cursorsAreShared},
		{"NoCyclesAcross", "CONTRACT 14: parent changes are serialised per tenant, so that no two of them close a circle, wherever they are.", noCyclesAcross},
		{"CloseOneOnly", rule + ": closing one leaves the other as it is.", closeOneOnly},
		{"StateIsShared", rule + ": a state that one keeps at hand never hides what the other wrote.", stateIsShared},
	}
}

// pair opens one store twice.
func (k *kit) pair() (a, b *kit) {
	k.Helper()
	a = k.alone()
	return a, a.on(k.share(a.store))
}

func eachSeesTheOther(k *kit) {
	a, b := k.pair()
	id := a.create(says("0"))
	for i := 1; i <= 20; i++ {
		writer, reader := a, b
		if i%2 == 0 {
			writer, reader = b, a
		}
		r := writer.append(id, says(fmt.Sprint(i)), selvage.Exact(selvage.Version(i)))
		h := reader.load(id)
		if h.Thread.Version != r.Version || h.Hash != r.Hash || h.Messages[len(h.Messages)-1].Text() != fmt.Sprint(i) {
			k.Fatalf("one wrote version %d, the other then loads version %d", r.Version, h.Thread.Version)
		}
	}
	if one, other := a.picture(id), b.picture(id); one != other {
		k.Errorf("the two read differently: %s", difference(other, one))
	}
	b.delete(id, selvage.DeleteReject)
	a.unreadable(id, selvage.ErrNotFound)
	a.refuse(id, says("late"), selvage.Any(), selvage.ErrGone)
}

// zombieAcross does not read before it appends, which would tell the store.
func zombieAcross(k *kit) {
	a, b := k.pair()
	id := a.create(says("0"))
	held := a.acquire(a.leaser(), id, owner("a"))
	set := func(text string) selvage.ChangeSet {
		set := says(text)
		set.Fence = held.Fence()
		return set
	}
	a.append(id, set("mine"), selvage.Any())
	if err := a.leaser().Release(k.Context(), held); err != nil {
		k.Fatalf("release: %v", err)
	}
	b.acquire(b.leaser(), id, owner("b"))
	_, err := a.store.Append(k.Context(), id, set("still mine"), selvage.Exact(2))
	k.class("an append under an epoch that another process ended", err, selvage.ErrFenced)
	k.equal("messages", texts(b.load(id).Messages), []string{"0", "mine"})
}

func oneChain(k *kit) {
	a, b := k.pair()
	id := a.create(patch(state.Set("/n", state.Int(0))))
	const writers, each = 4, 15
	got := make([][]selvage.Receipt, 2*writers)
	errs := together(2*writers, func(w int) error {
		s := []selvage.Store{a.store, b.store}[w%2]
		for range each {
			set := patch(state.Increment("/n", state.Int(1)))
			set.Messages = []selvage.Message{say("", "hello")}
			r, err := s.Append(k.Context(), id, set, selvage.Any())
			if err != nil {
				return err
			}
			got[w] = append(got[w], r)
		}
		return nil
	})
	k.noErrors(errs)
	a.everyVersionOnce(id, got, 2)
	for _, side := range []*kit{a, b} {
		if want := fmt.Sprintf(`{"n":%d}`, 2*writers*each); side.state(id, 0) != want {
			k.Errorf("after %d increments the state is %s; want %s", 2*writers*each, side.state(id, 0), want)
		}
	}
}

func oneWinnerAcross(k *kit) {
	a, b := k.pair()
	id := a.create(says("hello"))
	for version := selvage.Version(1); version <= 10; version++ {
		errs := together(8, func(i int) error {
			_, err := []selvage.Store{a.store, b.store}[i%2].Append(k.Context(), id, says(fmt.Sprint(i)), selvage.Exact(version))
			return err
		})
		k.winner(fmt.Sprintf("writing version %d", version+1), errs, selvage.ErrConflict)
	}
	a.verify(a.log(id))
}

func oneEffectAcross(k *kit) {
	a, b := k.pair()
	id := a.create(says("hello"))
	for range 10 {
		set := says("once")
		set.ID = "set-" + selvage.NewID()
		receipts := make([]selvage.Receipt, 8)
		errs := together(len(receipts), func(i int) (err error) {
			receipts[i], err = []selvage.Store{a.store, b.store}[i%2].Append(k.Context(), id, set, selvage.Any())
			return err
		})
		k.noErrors(errs)
		written := 0
		for _, r := range receipts {
			if !r.Replayed {
				written++
			}
			if r.Version != receipts[0].Version || r.Hash != receipts[0].Hash {
				k.Errorf("copies of one set got the receipts %s and %s", encode(k, r), encode(k, receipts[0]))
			}
		}
		if written != 1 {
			k.Errorf("of %d copies of one set %d say that they were written; want 1", len(receipts), written)
		}
	}
	if h := b.load(id); h.Thread.Version != 11 {
		k.Errorf("after ten sets the thread is at version %d; want 11", h.Thread.Version)
	}
}

func oneLeaseAcross(k *kit) {
	a, b := k.pair()
	la, lb := a.leaser(), b.leaser()
	id := a.create(says("hello"))
	b.busy(lb, owner("b"), a.acquire(la, id, owner("a")))
	for range 5 {
		id := newID()
		errs := together(8, func(i int) error {
			_, err := []selvage.Leaser{la, lb}[i%2].Acquire(k.Context(), id, owner(fmt.Sprint(i)), minute)
			return err
		})
		k.winner("acquiring one lease", errs, selvage.ErrBusy)
	}
}

func fencedAcross(k *kit) {
	a, b := k.pair()
	id := a.create(says("hello"))
	lost := a.brief(a.leaser(), id, elsewhere("a"))
	a.append(id, fenced(lost.Epoch, "mine"), selvage.Any())
	taken := b.acquire(b.leaser(), id, owner("b"))
	a.refuse(id, fenced(lost.Epoch, "late"), selvage.Any(), selvage.ErrFenced)
	a.refuse(id, fenced(lost.Epoch, "late"), selvage.Exact(2), selvage.ErrFenced)
	b.append(id, fenced(taken.Epoch, "mine now"), selvage.Exact(2))
	if _, err := a.leaser().Renew(k.Context(), lost, minute); !errors.Is(err, selvage.ErrFenced) {
		k.Errorf("renewing a lease that was taken over through the other answers %v; want it fenced", err)
	}
}

func cursorsAreShared(k *kit) {
	a, b := k.pair()
	id := a.talk(20, 10)
	q := selvage.MessageQuery{Visibility: selvage.ShowAll, Limit: ptr(7)}
	q.Cursor = a.messages(id, q).Next
	k.equal("seqs of the second page, read through the other", seqs(b.messages(id, q).Items), between(8, 14))
}

func closeOneOnly(k *kit) {
	a, b := k.pair()
	id := a.create(says("hello"))
	if err := b.store.Close(); err != nil {
		k.Fatalf("close the second failed: %v", err)
	}
	a.append(id, says("more"), selvage.Exact(1))
	k.equal("messages", texts(a.load(id).Messages), []string{"hello", "more"})
}

func stateIsShared(k *kit) {
	a, b := k.pair()
	id := a.create(patch(state.Set("/n", state.Int(0))))
	for i := 1; i <= 10; i++ {
		for j, side := range []*kit{a, a, b, b} {
			side.append(id, patch(state.Increment("/n", state.Int(1))), selvage.Any())
			want := fmt.Sprintf(`{"n":%d}`, 4*(i-1)+j+1)
			if own, other := a.state(id, 0), b.state(id, 0); own != want || other != want {
				k.Fatalf("the state is %s and, read through the other, %s; want %s", own, other, want)
			}
		}
	}
	// A refused increment must be judged on what the other wrote, too.
	b.append(id, patch(state.Set("/n", state.String("text"))), selvage.Any())
	a.refuseField(id, patch(state.Increment("/n", state.Int(1))), selvage.Any(), "patches[0]")
	// And a life that ended elsewhere leaves nothing behind.
	b.delete(id, selvage.DeleteReject)
	b.append(id, says("again"), selvage.Recreate())
	a.refuseField(id, patch(state.Increment("/n", state.Int(1))), selvage.Any(), "patches[0]")
	if got := a.state(id, 0); got != "{}" {
		k.Errorf("state of a thread recreated through the other: got %s, want {}", got)
	}
}

// noCyclesAcross has two processes move threads below each other.
func noCyclesAcross(k *kit) {
	a, b := k.pair()
	for range 10 {
		const n = 4
		line := make([]selvage.ThreadID, n)
		for i := range line {
			line[i] = a.create(says("hello"))
		}
		errs := together(n, func(i int) error {
			_, err := []selvage.Store{a.store, b.store}[i%2].Append(k.Context(), line[i], under(line[(i+1)%n]), selvage.Any())
			return err
		})
		refused := 0
		for i, err := range errs {
			if err != nil {
				refused++
				k.class(fmt.Sprintf("parent change %d", i), err, selvage.ErrInvalid)
			}
		}
		if refused != 1 {
			k.Errorf("of %d parent changes that would close a circle %d were refused; want exactly 1", n, refused)
		}
		for _, id := range line {
			at, steps := id, 0
			for ; at != "" && steps <= n; steps++ {
				at = b.parent(at)
			}
			if at != "" {
				k.Fatalf("thread %q is its own ancestor", id)
			}
		}
	}
	// A child that is made while its parent is deleted has none, or keeps it.
	for range 10 {
		parent, child := a.create(says("parent")), newID()
		errs := together(2, func(i int) error {
			if i == 0 {
				return a.store.Delete(k.Context(), parent, selvage.DeleteDetach)
			}
			_, err := b.store.Append(k.Context(), child, under(parent), selvage.New())
			return err
		})
		if errs[0] != nil {
			k.Errorf("delete failed: %v", errs[0])
		}
		if errs[1] != nil {
			k.class("a child of a thread that is deleted", errs[1], selvage.ErrInvalid)
		} else if got := a.parent(child); got != "" {
			k.Errorf("the child was made and its parent is gone; it still names %q", got)
		}
	}
}
