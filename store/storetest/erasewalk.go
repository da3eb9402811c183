package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/selvagehq/selvage"
)

func theLogTells(k *kit) {
	id := k.create(confession())
	r := k.erase(id, "user", "answer")
	c := k.change(id, r.Version)
	if c.Reason != selvage.ReasonErased || c.ID != r.ChangeID {
		k.Errorf("the change has reason %s and id %s; want %s and %s", c.Reason, c.ID, selvage.ReasonErased, r.ChangeID)
	}
	events := k.changeEvents(&c)
	if len(events) != 1 || r.Events != 1 || events[0].Kind != selvage.EventErased {
		k.Fatalf("it makes the events %s, and its receipt says %d; want one of kind %s", encode(k, events), r.Events, selvage.EventErased)
	}
	var told selvage.Erasure
	if err := json.Unmarshal(events[0].Payload, &told); err != nil || len(told.Messages) != 2 {
		k.Fatalf("its payload is %s (%v); want two messages", events[0].Payload, err)
	}
	first := k.change(id, 1)
	for i, want := range []selvage.ErasedMessage{{ID: "user", Seq: 2, Index: 1, Version: 1}, {ID: "answer", Seq: 4, Index: 3, Version: 1}} {
		is := told.Messages[i]
		if is.ID != want.ID || is.Seq != want.Seq || is.Index != want.Index || is.Version != want.Version {
			k.Errorf("it tells of %s; want %s", encode(k, is), encode(k, want))
		}
		if err := first.CheckErased(&is); err != nil {
			k.Errorf("what it tells does not fit: %v", err)
		}
	}
}

func erasureIsRepeatable(k *kit) {
	id := k.create(confession())
	req := selvage.EraseRequest{ID: "erase-" + selvage.NewID(), Messages: []string{"user", "call"}}
	first, err := k.eraser().Erase(k.Context(), id, req)
	if err != nil {
		k.Fatalf("erase failed: %v", err)
	}
	before := k.picture(id)
	req.Messages = []string{"call", "user", "user"}
	again, err := k.eraser().Erase(k.Context(), id, req)
	if err != nil || !again.Replayed {
		k.Fatalf("the same erasure again: %s, %v; want a replay", encode(k, again), err)
	}
	first.Replayed = true
	k.equal("the receipt of the replay", again, first)
	if after := k.picture(id); after != before {
		k.Errorf("a replay left its mark: %s", difference(after, before))
	}
	req.Messages = []string{"user"}
	k.refuseErase(id, req, selvage.ErrAlreadyExists)
	k.refuse(id, selvage.ChangeSet{ID: req.ID}, selvage.Any(), selvage.ErrAlreadyExists)
	set := confession()
	set.Messages = nil
	k.append(id, set, selvage.Any())
	k.refuseErase(id, selvage.EraseRequest{ID: set.ID, Messages: confessed}, selvage.ErrAlreadyExists)
}

func erasedTwice(k *kit) {
	id := k.create(confession())
	k.erase(id, "user")
	before := k.change(id, 1)
	r := k.erase(id, "user")
	if r.Version != 3 || r.Replayed {
		k.Errorf("a second erasure answers %s; want version 3", encode(k, r))
	}
	k.equal("what the first one left", k.change(id, 1), before)
	k.erase(id, confessed...)
	if c := k.change(id, 1); len(c.Erased()) != 3 {
		k.Errorf("messages %v are erased; want three", c.Erased())
	}
	k.verify(k.log(id))
}

func erasureRefused(k *kit) {
	id := k.create(confession())
	k.refuseErase(id, selvage.EraseRequest{Messages: []string{"user", "nobody"}}, selvage.ErrNotFound)
	k.refuseErase(id, selvage.EraseRequest{}, selvage.ErrInvalid)
	k.refuseErase(id, selvage.EraseRequest{Messages: []string{"user", ""}}, selvage.ErrInvalid)
	k.refuseErase(id, selvage.EraseRequest{ID: "a/b", Messages: []string{"user"}}, selvage.ErrInvalid)
	k.refuseErase(id, selvage.EraseRequest{Messages: slices.Repeat([]string{"user"}, selvage.MaxSetMessages+1)}, selvage.ErrTooLarge)
	k.refuseErase("a/b", selvage.EraseRequest{Messages: []string{"user"}}, selvage.ErrInvalid)
	k.refuseErase(newID(), selvage.EraseRequest{Messages: []string{"user"}}, selvage.ErrNotFound)
	k.delete(id, selvage.DeleteReject)
	k.refuseErase(id, selvage.EraseRequest{Messages: []string{"user"}}, selvage.ErrGone)
	k.append(id, says("again"), selvage.Recreate())
	k.refuseErase(id, selvage.EraseRequest{Messages: []string{"user"}}, selvage.ErrNotFound)
}

func droppedDuplicatesGo(k *kit) {
	id := k.create(selvage.ChangeSet{Messages: []selvage.Message{say("a", "first")}},
		selvage.ChangeSet{Messages: []selvage.Message{say("a", secret), say("b", "B")}})
	r := k.erase(id, "a")
	if p := k.picture(id); strings.Contains(p, "secret") {
		k.Error("a duplicate that was dropped still tells")
	}
	told, err := ptr(k.change(id, r.Version)).Erasures()
	if err != nil || len(told) != 2 || told[0].Seq != 1 || told[1].Version != 2 || told[1].Seq != 0 {
		k.Errorf("the erasure tells of %s (%v); want message 1 and the duplicate, which has no seq", encode(k, told), err)
	}
	k.verify(k.log(id))
	k.equal("the messages", skeletons(k.load(id).Messages), []string{"1 user a erased", "2 user b"})
}

func hiddenMessagesGo(k *kit) {
	id := k.create(says("hello"), selvage.ChangeSet{Messages: []selvage.Message{say("a", secret)}})
	back := selvage.ChangeSet{Rewind: ptr(selvage.Version(1))}
	k.append(id, back, selvage.Any())
	k.erase(id, "a")
	k.append(id, selvage.ChangeSet{Messages: []selvage.Message{say("a", secret)}}, selvage.Any())
	k.append(id, back, selvage.Any())
	k.append(id, selvage.ChangeSet{Messages: []selvage.Message{say("a", secret)}}, selvage.Any())
	r := k.erase(id, "a")
	if p := k.picture(id); strings.Contains(p, "secret") {
		k.Error("the secret can still be read")
	}
	told, err := ptr(k.change(id, r.Version)).Erasures()
	if err != nil || len(told) != 3 {
		k.Errorf("the erasure tells of %s (%v); want three copies", encode(k, told), err)
	}
	k.verify(k.log(id))
	for v := selvage.Version(1); v <= r.Version; v++ {
		k.allMessages(id, selvage.MessageQuery{At: v})
	}
}

func erasedSetsAreKnown(k *kit) {
	id := k.create(says("hello"))
	set := confession()
	first := k.append(id, set, selvage.Any())
	k.erase(id, "user", "call")
	k.replay(id, set, selvage.Any(), first)
	other := confession()
	other.ID = set.ID
	other.Messages[0] = say("before", "something else")
	k.refuse(id, other, selvage.Any(), selvage.ErrAlreadyExists)
	other.Messages[0] = set.Messages[0]
	other.Messages[1].Role = selvage.RoleSystem
	k.refuse(id, other, selvage.Any(), selvage.ErrAlreadyExists)
	other.Messages = set.Messages[:4]
	k.refuse(id, other, selvage.Any(), selvage.ErrAlreadyExists)
}

func erasedIDsStay(k *kit) {
	id := k.create(confession())
	k.erase(id, "user")
	if r := k.append(id, selvage.ChangeSet{Messages: []selvage.Message{say("user", "anew")}}, selvage.Any()); r.Added != 0 {
		k.Error("a message with the id of an erased one was added; want it dropped")
	}
}

func erasedByDerivedID(k *kit) {
	id := k.create(says("hello", secret, "bye"))
	m := k.load(id).Messages[1]
	k.erase(id, m.ID)
	got := k.load(id).Messages
	k.equal("the texts", texts(got), []string{"hello", "", "bye"})
	if !got[1].Erased || got[1].ID != m.ID || !got[1].CreatedAt.Equal(m.CreatedAt) {
		k.Errorf("the erased message is %s; want the id %s and its time to stay", encode(k, got[1]), m.ID)
	}
}

func pagesGoOnErased(k *kit) {
	id := k.create(says("1", "2", "3"), says("4", "5"), says("6"))
	ids := k.load(id).Messages
	for _, order := range []selvage.Order{selvage.Ascending, selvage.Descending} {
		read := k.messagePages(id, selvage.MessageQuery{Limit: ptr(2), Order: order})
		got := walkAnd(k, read, func(page int, _ []selvage.Message) {
			k.erase(id, ids[page].ID, ids[3].ID)
		})
		if len(got) != 6 {
			k.Errorf("%s: %d messages came in pages between which some were erased; want 6", order, len(got))
		}
	}
}

func eraseBesideWriters(k *kit) {
	id := k.create(says("hello"))
	const writers, each = 4, 12
	errs := together(2*writers, func(i int) error {
		for n := range each {
			name := fmt.Sprintf("m-%d-%d", i/2, n)
			if i%2 == 0 {
				set := selvage.ChangeSet{Messages: []selvage.Message{say(name, secret)}}
				if _, err := k.store.Append(k.Context(), id, set, selvage.Any()); err != nil {
					return err
				}
				continue
			}
			for {
				_, err := k.eraser().Erase(k.Context(), id, selvage.EraseRequest{Messages: []string{name}})
				if err == nil {
					break
				}
				if !errors.Is(err, selvage.ErrNotFound) {
					return err
				}
			}
		}
		return nil
	})
	k.noErrors(errs)
	if strings.Contains(k.picture(id), "secret") {
		k.Error("the secret can still be read")
	}
	log := k.log(id)
	k.verify(log)
	if want := 1 + 2*writers*each; len(log) != want {
		k.Errorf("the log has %d versions; want %d", len(log), want)
	}
}

func erasedIsNotSubmitted(k *kit) {
	id := k.create(says("hello"))
	m := say("m", "not really")
	m.Erased = true
	k.refuseField(id, selvage.ChangeSet{Messages: []selvage.Message{m}}, selvage.Any(), "messages[0].erased")
	k.refuseField(id, selvage.ChangeSet{Reason: selvage.ReasonErased}, selvage.Any(), "reason")
}

func erasedStaysErased(k *kit) {
	k = k.alone()
	set := confession()
	id := k.create(says("hello"))
	first := k.append(id, set, selvage.Any())
	r := k.erase(id, confessed...)
	before := k.picture(id)
	k = k.restart()
	if after := k.picture(id); after != before {
		k.Fatalf("a restart changed what can be read: %s", difference(after, before))
	}
	k.verify(k.log(id))
	k.replay(id, set, selvage.Any(), first)
	again, err := k.eraser().Erase(k.Context(), id, selvage.EraseRequest{ID: r.ChangeID, Messages: confessed})
	if err != nil || !again.Replayed || again.Version != r.Version {
		k.Errorf("the same erasure after a restart: %s, %v; want a replay", encode(k, again), err)
	}
}
