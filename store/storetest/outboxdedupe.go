package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
)

// keyed is an entry with a dedupe key.
func keyed(lane, key string, payload any) selvage.OutboxEntry {
	e := entry(lane, "a", payload)
	e.DedupeKey = key
	return e
}

func dedupeIsOneDelivery(k *kit) {
	lane := newLane()
	id := newID()
	spaced := keyed(lane, "order-1", nil)
	spaced.Payload = json.RawMessage(`{ "n" : 1 }`)
	first := k.append(id, sends(keyed(lane, "order-1", map[string]int{"n": 1}), spaced), selvage.New())
	k.equal("ids of one key in one set", first.OutboxIDs[0], first.OutboxIDs[1])
	again := k.append(k.create(says("another thread")), sends(entry(lane, "b", 2), spaced), selvage.Any())
	k.equal("the id of a key that is known", again.OutboxIDs[1], first.OutboxIDs[0])
	other := spaced
	other.Target = "b" // which has keys of its own
	k.append(id, sends(other), selvage.Any())
	k.equal("deliveries", len(k.deliveries(selvage.DeliveryQuery{Lane: lane})), 3)
	d := k.claimFor(selvage.OutboxClaim{Lane: lane, Target: "a", Limit: 10, Owner: "w", Lease: minute})
	if len(d) != 1 || d[0].ID != first.OutboxIDs[0] || d[0].ThreadID != id {
		k.Fatalf("claimed are %s; want the first delivery alone", encode(k, d))
	}
	k.ack(d[0])
	// It is known as long as it is kept, delivered or not.
	k.append(id, sends(spaced), selvage.Any())
	k.equal("claimed after it was delivered", toDeliver(k.claimFor(selvage.OutboxClaim{Lane: lane, Target: "a", Limit: 10, Owner: "w", Lease: minute})), []string{})
}

func dedupeOtherPayload(k *kit) {
	lane := newLane()
	id := k.create(sends(keyed(lane, "order-1", 1)))
	set := sends(entry(lane, "a", "beside"), keyed(lane, "order-1", 2))
	set.Messages = []selvage.Message{say("", "not written")}
	k.refuse(id, set, selvage.Any(), selvage.ErrAlreadyExists)
	k.refuse(newID(), set, selvage.New(), selvage.ErrAlreadyExists)
	k.refuseField(id, sends(keyed(lane, "order-2", 1), keyed(lane, "order-2", 2)), selvage.Any(), "outbox[1].dedupe_key")
	k.equal("deliveries", len(k.deliveries(selvage.DeliveryQuery{Lane: lane})), 1)
}

func deliveryKeysUnderConcurrency(k *kit) {
	lane := newLane()
	ids := make([]string, 12)
	k.noErrors(together(len(ids), func(i int) error {
		r, err := k.store.Append(k.Context(), newID(), sends(keyed(lane, "order-1", 1)), selvage.New())
		if err == nil {
			ids[i] = r.OutboxIDs[0]
		}
		return err
	}))
	if distinct := slices.Compact(ids); len(distinct) != 1 {
		k.Errorf("%d who asked for one delivery got the ids %q; want one", len(ids), distinct)
	}
	k.one(lane)
	errs := together(8, func(i int) error {
		_, err := k.store.Append(k.Context(), newID(), sends(keyed(lane, "order-2", i)), selvage.New())
		return err
	})
	k.winner("asking for one key with other payloads", errs, selvage.ErrAlreadyExists)
}

func refusedEnqueueNothing(k *kit) {
	lane := newLane()
	id := k.create(says("hello"))
	set := sends(entry(lane, "a", 1))
	k.refuse(id, set, selvage.Exact(7), selvage.ErrConflict)
	k.refuse(id, set, selvage.New(), selvage.ErrAlreadyExists)
	set.Runs = []selvage.RunUpdate{done("run-unknown")}
	k.refuse(id, set, selvage.Any(), selvage.ErrInvalid)
	k.equal("deliveries of refused sets", len(k.deliveries(selvage.DeliveryQuery{Lane: lane})), 0)
	set = sends(entry(lane, "a", 1))
	set.ID = "set-1"
	r := k.append(id, set, selvage.Any())
	k.replay(id, set, selvage.Any(), r)
	k.one(lane)
}

func outboxShape(k *kit) {
	id := k.create(says("hello"))
	long := strings.Repeat("x", selvage.MaxOutboxName+1)
	for field, e := range map[string]selvage.OutboxEntry{
		"outbox[1].lane":         {Target: "a"},
		"outbox[1].target":       {Lane: "l"},
		"outbox[1].dedupe_key":   {Lane: "l", Target: "a", DedupeKey: long},
		"outbox[1].max_attempts": {Lane: "l", Target: "a", MaxAttempts: -1},
		"outbox[1].available_at": {Lane: "l", Target: "a", AvailableAt: time.Date(1, 2, 3, 0, 0, 0, 0, time.UTC)},
	} {
		k.refuseField(id, sends(entry("l", "a", 1), e), selvage.Any(), field)
	}
	for _, e := range []selvage.OutboxEntry{{Lane: long, Target: "a"}, {Lane: "l\x00", Target: "a"}, {Lane: "l", Target: "a\xff"},
		{Lane: "l", Target: "a", MaxAttempts: selvage.MaxOutboxAttempts + 1}} {
		k.refuseField(id, sends(e), selvage.Any(), "outbox[0]")
	}
	k.refuse(id, sends(entry("l", "a", strings.Repeat("x", selvage.MaxOutboxPayload))), selvage.Any(), selvage.ErrTooLarge)
	k.refuse(id, sends(slices.Repeat([]selvage.OutboxEntry{entry("l", "a", 1)}, selvage.MaxOutboxEntries+1)...), selvage.Any(), selvage.ErrTooLarge)
	lane := newLane()
	k.append(id, sends(slices.Repeat([]selvage.OutboxEntry{entry(lane, "a", 1)}, selvage.MaxOutboxEntries)...), selvage.Any())
	k.equal("claimed of as many as a set may have", len(k.claim(lane, selvage.MaxPage)), selvage.MaxOutboxEntries)
}

func badOutboxInput(k *kit) {
	o, lane := k.outbox(), newLane()
	k.create(sends(entry(lane, "a", 1)))
	for what, c := range map[string]selvage.OutboxClaim{
		"no lane": {Limit: 1, Lease: minute}, "no limit": {Lane: lane, Lease: minute}, "a negative limit": {Lane: lane, Limit: -1, Lease: minute},
		"no lease": {Lane: lane, Limit: 1}, "a lease without end": {Lane: lane, Limit: 1, Lease: selvage.MaxOutboxLease + 1},
		"a long owner": {Lane: lane, Limit: 1, Lease: minute, Owner: strings.Repeat("x", 201)}, "a bad lane": {Lane: lane + "\x00", Limit: 1, Lease: minute},
	} {
		k.class("claim with "+what, errorOf(o.Claim(k.Context(), c)), selvage.ErrInvalid)
	}
	for _, id := range []string{"", "x", "x/y", "/", "key/", "key/zz", "x/1", "x/1.x"} {
		k.class(fmt.Sprintf("acknowledging %q", id), o.Ack(k.Context(), selvage.Delivery{ID: id, Token: "t"}), selvage.ErrInvalid)
	}
	for _, id := range []string{string(newID()) + "/1.0", "key/00112233445566778899aabbccddeeff"} {
		k.class(fmt.Sprintf("acknowledging %q", id), o.Ack(k.Context(), selvage.Delivery{ID: id, Token: "t"}), selvage.ErrNotFound)
	}
	for _, q := range []selvage.DeliveryQuery{{Status: "odd"}, {Limit: ptr(-1)}, {Lane: "\x00"}, {Cursor: "made up"}} {
		k.class("listing "+encode(k, q), errorOf(o.Deliveries(k.Context(), q)), selvage.ErrInvalid)
	}
	d := k.claim(lane, 1)[0]
	k.class("giving back to the past", errorOf(o.Nack(k.Context(), d, selvage.DeliveryFailure{After: -1})), selvage.ErrInvalid)
	k.ack(d)
}
