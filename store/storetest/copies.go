package storetest

import (
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

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
