package storetest

import (
	"fmt"
	"sync"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

func rewindPages(k *kit) {
	id := k.talk(20, 2) // versions 1 to 10
	q := selvage.MessageQuery{Visibility: selvage.ShowAll, Limit: ptr(4)}
	once := func(at int, do func()) func(int, []selvage.Message) {
		return func(page int, _ []selvage.Message) {
			if page == at {
				do()
			}
		}
	}
	pinned := q
	pinned.At = 10
	got := walkAnd(k, k.messagePages(id, pinned), once(2, func() { k.append(id, back(3), selvage.Any()) })) // version 11
	k.equal("seqs as of version 10 while the thread is rewound", seqs(got), between(1, 20))

	k.append(id, says("21", "22", "23", "24"), selvage.Any()) // version 12: 1 to 6, 21 to 24
	got = walkAnd(k, k.messagePages(id, q), once(1, func() { k.append(id, back(10), selvage.Any()) }))
	k.equal("seqs read upwards while the thread is rewound", seqs(got), between(1, 20))
	q.Order = selvage.Descending
	got = walkAnd(k, k.messagePages(id, q), once(2, func() { k.append(id, back(12), selvage.Any()) }))
	k.equal("seqs read downwards while the thread is rewound", seqs(got), append(between(20, 13), between(6, 1)...))

	q = selvage.MessageQuery{Visibility: selvage.ShowAll, After: 3, Before: 23, Limit: ptr(2)}
	k.equal("seqs between bounds across a gap", seqs(walk(k, k.messagePages(id, q))), []int64{4, 5, 6, 21, 22})
	q.After, q.Before = 7, 20
	k.equal("seqs within a gap", seqs(walk(k, k.messagePages(id, q))), []int64{})
	q = selvage.MessageQuery{Visibility: selvage.ShowInternal, RunID: "x", Limit: ptr(1)}
	k.equal("filtered seqs across a gap", seqs(walk(k, k.messagePages(id, q))), []int64{2, 4})
}

func rewindWindow(k *kit) {
	id := k.talk(12, 1)
	k.append(id, back(5), selvage.Any())
	k.append(id, says("13", "14"), selvage.Any())
	k.append(id, back(11), selvage.Any())
	k.append(id, says("15"), selvage.Any())
	want := append(between(1, 11), 15)
	for _, n := range []int{0, 1, 2, 3, 7, 12, 13, 100} {
		h, err := k.store.Load(k.Context(), id, selvage.LoadOptions{Messages: &n})
		if err != nil {
			k.Fatalf("load with %d messages failed: %v", n, err)
		}
		k.equal(fmt.Sprintf("seqs of the last %d messages", n), seqs(h.Messages), append([]int64{}, want[max(0, len(want)-n):]...))
	}
	k.append(id, back(3), selvage.Any())
	h, err := k.store.Load(k.Context(), id, selvage.LoadOptions{Messages: ptr(2)})
	if err != nil {
		k.Fatalf("load failed: %v", err)
	}
	k.equal("seqs of the last two messages right after a rewind", seqs(h.Messages), []int64{2, 3})
}

func rewindRaces(k *kit) {
	id := k.create(turn("a"), turn("b"))
	version := selvage.Version(2)
	for range 10 {
		errs := together(6, func(i int) error {
			set := back(1)
			if i%2 == 0 {
				set = says(fmt.Sprint(i))
			}
			_, err := k.store.Append(k.Context(), id, set, selvage.Exact(version))
			return err
		})
		k.winner(fmt.Sprintf("writing version %d", version+1), errs, selvage.ErrConflict)
		version++
	}
	k.verify(k.log(id))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 5 {
				set := turn(fmt.Sprint("any-", i, "-", n))
				if i%2 == 0 {
					set = back(1)
				}
				if _, err := k.store.Append(k.Context(), id, set, selvage.Any()); err != nil {
					k.Errorf("append with precondition any failed: %v", err)
				}
			}
		})
	}
	wg.Wait()
	k.append(id, back(2), selvage.Any())
	k.at(id, 0, "a", "b")
	if h := k.load(id); h.Thread.Version != version+41 {
		k.Errorf("after 41 more changes the thread is at version %d; want %d", h.Thread.Version, version+41)
	}
}

func rewindFormerLife(k *kit) {
	id := k.create(turn("a"), turn("b"), back(1), turn("c"))
	k.delete(id, selvage.DeleteReject)          // version 5
	k.append(id, turn("b"), selvage.Recreate()) // 6
	k.append(id, turn("d"), selvage.Any())      // 7
	for v := selvage.Version(1); v <= 5; v++ {
		k.refuse(id, back(v), selvage.Any(), selvage.ErrGone)
	}
	k.at(id, 0, "b", "d")
	k.append(id, back(6), selvage.Any())
	k.at(id, 0, "b")
	k.append(id, turn("d"), selvage.Any())
	k.append(id, back(7), selvage.Any())
	k.at(id, 0, "b", "d")
	k.equal("seqs of the new life", seqs(k.load(id).Messages), []int64{4, 5})
	k.delete(id, selvage.DeleteReject)
	k.refuse(id, back(6), selvage.Any(), selvage.ErrGone)
	k.refuseField(id, back(6), selvage.Recreate(), "rewind")
	k.append(id, turn("d"), selvage.Recreate())
	k.at(id, 0, "d")
}

// rewindFarBack goes through hundreds of versions, most of which were hidden
// and shown again, on a store that may keep marks and documents on the way.
func rewindFarBack(k *kit) {
	id := newID()
	pre := selvage.New()
	write := func(n int, name string) {
		for i := range n {
			set := patch(state.Increment("/n", state.Int(1)))
			if pre.IsNew() {
				set = patch(state.Set("/n", state.Int(1)))
			}
			set.Messages = []selvage.Message{say(fmt.Sprint(name, i), name)}
			k.append(id, set, pre)
			pre = selvage.Any()
		}
	}
	check := func(v selvage.Version, n int, last int64) {
		k.Helper()
		if got, want := k.state(id, v), fmt.Sprintf(`{"n":%d}`, n); got != want {
			k.Errorf("the state at version %d is %s; want %s", v, got, want)
		}
		q := selvage.MessageQuery{At: v, Visibility: selvage.ShowAll, Order: selvage.Descending, Limit: ptr(1)}
		page := k.messages(id, q)
		if len(page.Items) != 1 || page.Items[0].Seq != last {
			k.Errorf("the last message at version %d is %s; want seq %d", v, encode(k, page.Items), last)
		}
		q.Order, q.Limit = selvage.Ascending, ptr(selvage.MaxPage)
		if all := walk(k, k.messagePages(id, q)); len(all) != n {
			k.Errorf("%d messages can be seen at version %d; want %d", len(all), v, n)
		}
	}
	write(200, "a")                        // versions 1 to 200
	k.append(id, back(100), selvage.Any()) // 201
	check(0, 100, 100)
	write(150, "b") // 202 to 351, seqs 201 to 350
	check(0, 250, 350)
	k.append(id, back(190), selvage.Any()) // 352: what the first one hid
	check(0, 190, 190)
	write(70, "c") // 353 to 422, seqs 351 to 420
	check(0, 260, 420)
	k.append(id, back(260), selvage.Any()) // 423: within b
	check(0, 159, 259)
	write(40, "d") // 424 to 463
	for _, at := range []struct {
		v    selvage.Version
		n    int
		last int64
	}{{1, 1, 1}, {99, 99, 99}, {100, 100, 100}, {150, 150, 150}, {200, 200, 200}, {201, 100, 100}, {202, 101, 201}, {260, 159, 259}, {351, 250, 350},
		{352, 190, 190}, {353, 191, 351}, {422, 260, 420}, {423, 159, 259}, {463, 199, 460}, {0, 199, 460}} {
		check(at.v, at.n, at.last)
	}
	if h := k.load(id); len(h.Messages) != 199 || h.State.String() != `{"n":199}` {
		k.Errorf("a load shows %d messages and state %s; want 199 and as many counted", len(h.Messages), h.State)
	}
	again := says()
	for _, name := range []string{"a0", "a99", "a100", "a150", "b0", "b58", "b59", "c1", "d5"} {
		again.Messages = append(again.Messages, say(name, "again"))
	}
	k.equal("messages dropped because they can be seen", k.append(id, again, selvage.Any()).Dropped, []int{0, 1, 4, 5, 8})
	k.verify(k.log(id))
}

func rewindOften(k *kit) {
	id := k.create(turn("a"), turn("b"))
	for range selvage.MaxRewinds {
		k.append(id, back(1), selvage.Any())
	}
	k.refuse(id, back(1), selvage.Any(), selvage.ErrTooLarge)
	k.append(id, turn("c"), selvage.Any())
	k.at(id, 0, "a", "c")
	k.at(id, 2, "a", "b")
}
