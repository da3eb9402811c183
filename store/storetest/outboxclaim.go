package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
)

func claimHonoursFilters(k *kit) {
	lane, other := newLane(), newLane()
	k.create(sends(entry(lane, "a", 1), entry(other, "a", 2), entry(lane, "b", 3), entry(lane, "a", 4)), sends(entry(lane, "a", 5)))
	k.equal("claimed with a limit", toDeliver(k.claimFor(selvage.OutboxClaim{Lane: lane, Target: "a", Limit: 2, Owner: "w", Lease: minute})), []string{"1", "4"})
	k.equal("claimed of one target", toDeliver(k.claimFor(selvage.OutboxClaim{Lane: lane, Target: "a", Limit: 10, Owner: "w", Lease: minute})), []string{"5"})
	k.equal("claimed of any target", toDeliver(k.claim(lane, 1000)), []string{"3"})
	k.equal("claimed of a lane that has no more", toDeliver(k.claim(lane, 10)), []string{})
	k.equal("claimed of the other lane", toDeliver(k.claim(other, 10)), []string{"2"})
}

func claimFollowsTime(k *kit) {
	lane := newLane()
	at := time.Now().Add(400 * time.Millisecond)
	later, past := entry(lane, "a", "later"), entry(lane, "a", "past")
	later.AvailableAt = at
	past.AvailableAt = time.Now().Add(-time.Hour)
	k.create(sends(later, entry(lane, "a", "now")), sends(past), sends(entry(lane, "a", "now too")))
	due := k.deliveries(selvage.DeliveryQuery{Lane: lane})[0]
	if want := at.UTC().Truncate(selvage.TimePrecision); !due.AvailableAt.Equal(want) {
		k.Errorf("a delivery is available at %v; want %v", due.AvailableAt, want)
	}
	k.tick()
	early, want := k.claim(lane, 10), []string{`"past"`, `"now"`, `"now too"`}
	slow := !time.Now().Before(at) // so that it may have come, too
	if !slow || len(early) == len(want) {
		k.equal("claimed before its time", toDeliver(early), want)
	}
	k.waitUntil(at)
	if len(early) == len(want) {
		k.equal("claimed at its time", toDeliver(k.claim(lane, 10)), []string{`"later"`})
	}
}

func oneOwner(k *kit) {
	lane := newLane()
	const n, workers = 60, 8
	for i := range n / 10 {
		var entries []selvage.OutboxEntry
		for j := range 10 {
			entries = append(entries, entry(lane, "a", 10*i+j))
		}
		k.create(sends(entries...))
	}
	got := make([][]selvage.Delivery, workers)
	k.noErrors(together(workers, func(w int) error {
		for {
			some, err := k.outbox().Claim(k.Context(), selvage.OutboxClaim{Lane: lane, Limit: 3, Owner: fmt.Sprint(w), Lease: minute})
			got[w] = append(got[w], some...)
			if err != nil || len(some) == 0 {
				return err
			}
		}
	}))
	k.eachOnce(n, got...)
}

// eachOnce checks that workers together have claimed n deliveries, each once.
func (k *kit) eachOnce(n int, got ...[]selvage.Delivery) {
	k.Helper()
	ids := deliveryIDs(slices.Concat(got...))
	slices.Sort(ids)
	if distinct := len(slices.Compact(slices.Clone(ids))); distinct != len(ids) || distinct != n {
		k.Errorf("%d claims were of %d different deliveries; want each of %d once", len(ids), distinct, n)
	}
}

func ackEnds(k *kit) {
	lane := newLane()
	k.create(sends(entry(lane, "a", 1), entry(lane, "a", 2)))
	all := k.claimFor(selvage.OutboxClaim{Lane: lane, Limit: 2, Owner: "w", Lease: 50 * time.Millisecond})
	k.ack(all[0])
	k.ack(all[0])
	k.waitUntil(all[1].AvailableAt)
	k.equal("claimed when the lease has run out", toDeliver(k.claim(lane, 10)), []string{"2"})
	k.ack(all[0])
	done := k.deliveries(selvage.DeliveryQuery{Lane: lane, Status: selvage.DeliveryDelivered})
	k.equal("delivered", toDeliver(done), []string{"1"})
	if done[0].Token != "" {
		k.Errorf("a list shows the token of a claim")
	}
	_, err := k.outbox().Nack(k.Context(), all[0], selvage.DeliveryFailure{Cause: "late"})
	k.class("giving back what was delivered", err, selvage.ErrFenced)
}

func lateAckIsRefused(k *kit) {
	lane := newLane()
	k.create(sends(entry(lane, "a", 1), entry(lane, "a", 2)))
	short := selvage.OutboxClaim{Lane: lane, Limit: 2, Owner: "slow", Lease: 20 * time.Millisecond}
	late := k.claimFor(short)
	k.waitUntil(late[0].AvailableAt)
	taken := k.claimFor(selvage.OutboxClaim{Lane: lane, Limit: 1, Owner: "next", Lease: minute})
	if len(taken) != 1 || taken[0].ID != late[0].ID || taken[0].Attempts != 2 {
		k.Fatalf("after a lease ran out a claim answers %s; want the delivery, tried twice", encode(k, taken))
	}
	k.class("a late acknowledgement", k.outbox().Ack(k.Context(), late[0]), selvage.ErrFenced)
	_, err := k.outbox().Nack(k.Context(), late[0], selvage.DeliveryFailure{})
	k.class("giving back late", err, selvage.ErrFenced)
	k.ack(late[1]) // nobody took it over
	k.ack(taken[0])
	stranger := taken[0]
	stranger.Token = ""
	k.class("an acknowledgement without a token", k.outbox().Ack(k.Context(), stranger), selvage.ErrFenced)
}

func crashLoopsEnd(k *kit) {
	lane := newLane()
	e := entry(lane, "a", 1)
	e.MaxAttempts = 3
	k.create(sends(e))
	crash := selvage.OutboxClaim{Lane: lane, Target: "a", Limit: 1, Owner: "crashes", Lease: 10 * time.Millisecond}
	for i := 1; i <= 3; i++ {
		d := k.claimFor(crash)
		if len(d) != 1 || d[0].Attempts != i {
			k.Fatalf("claim %d answers %s; want the delivery, tried %d times", i, encode(k, d), i)
		}
		k.waitUntil(d[0].AvailableAt)
	}
	k.create(sends(entry(lane, "b", 2)))
	// What can only be buried does not stand in the way of what is behind it.
	k.equal("claimed after the last attempt", toDeliver(k.claim(lane, 1)), []string{"2"})
	dead := k.deliveries(selvage.DeliveryQuery{Lane: lane, Status: selvage.DeliveryDead})
	if len(dead) != 1 || dead[0].Attempts != 3 || dead[0].LastError == "" {
		k.Errorf("dead letters are %s; want the one, tried 3 times, with a reason", encode(k, dead))
	}
}

func nackTriesAgain(k *kit) {
	lane := newLane()
	e := entry(lane, "a", 1)
	e.MaxAttempts = 2
	k.create(sends(e))
	d := k.claim(lane, 1)[0]
	asked := time.Now().Add(300 * time.Millisecond)
	if status := k.nack(d, selvage.DeliveryFailure{Cause: "no route\x00\xff", After: 300 * time.Millisecond}); status != selvage.DeliveryDue {
		k.Errorf("after its first failure a delivery is %s; want it due", status)
	}
	k.class("acknowledging what was given back", k.outbox().Ack(k.Context(), d), selvage.ErrFenced)
	waiting := k.one(lane)
	if waiting.LastError != "no route" || waiting.Status != selvage.DeliveryDue || waiting.Attempts != 1 {
		k.Errorf("a delivery that failed is %s; want it due, tried once, with the cause", encode(k, waiting))
	}
	again := k.claim(lane, 1)
	if len(again) > 0 && time.Now().Before(asked) {
		k.Errorf("a delivery that is due again at %v was claimed before", asked)
	}
	if k.waitUntil(waiting.AvailableAt); len(again) == 0 { // a slow machine may have taken until then
		again = k.claim(lane, 1)
	}
	if len(again) != 1 {
		k.Fatalf("claimed when it is due again: %d deliveries; want the one", len(again))
	}
	d = again[0]
	if status := k.nack(d, selvage.DeliveryFailure{Cause: strings.Repeat("x", 5000)}); status != selvage.DeliveryDead {
		k.Errorf("after its last attempt a delivery is %s; want it dead", status)
	}
	if last := k.one(lane); last.Status != selvage.DeliveryDead || len(last.LastError) != selvage.MaxOutboxError {
		k.Errorf("a dead letter is %s with a cause of %d bytes; want it dead with %d", last.Status, len(last.LastError), selvage.MaxOutboxError)
	}
	k.equal("claimed when dead", toDeliver(k.claim(lane, 1)), []string{})
}

func permanentFailureIsDead(k *kit) {
	lane := newLane()
	k.create(sends(entry(lane, "a", 1)))
	if status := k.nack(k.claim(lane, 1)[0], selvage.DeliveryFailure{Cause: "not an address", Permanent: true}); status != selvage.DeliveryDead {
		k.Errorf("after a failure that lasts a delivery is %s; want it dead", status)
	}
	if d := k.one(lane); d.Status != selvage.DeliveryDead || d.LastError != "not an address" {
		k.Errorf("the dead letter is %s", encode(k, d))
	}
}

func retryRevives(k *kit) {
	lane := newLane()
	e := entry(lane, "a", 1)
	e.MaxAttempts = 1
	k.create(sends(e))
	k.class("retry of what is due", k.outbox().Retry(k.Context(), k.one(lane)), selvage.ErrInvalid)
	k.nack(k.claim(lane, 1)[0], selvage.DeliveryFailure{Cause: "down"})
	if err := k.outbox().Retry(k.Context(), k.one(lane)); err != nil {
		k.Fatalf("retry failed: %v", err)
	}
	d := k.claim(lane, 1)
	if len(d) != 1 || d[0].Attempts != 1 {
		k.Fatalf("a claim after a retry answers %s; want the delivery, tried once", encode(k, d))
	}
	k.ack(d[0])
	k.class("retry of what was delivered", k.outbox().Retry(k.Context(), d[0]), selvage.ErrInvalid)
	d[0].ID = string(newID()) + "/1.0"
	k.class("retry of what is not there", k.outbox().Retry(k.Context(), d[0]), selvage.ErrNotFound)
}

func claimsAcross(k *kit) {
	if k.share == nil {
		return // nobody else can be there
	}
	a, b := k.pair()
	lane := newLane()
	const n = 30
	for i := range n {
		[]*kit{a, b}[i%2].create(sends(entry(lane, "a", i)))
	}
	got := make([][]selvage.Delivery, 6)
	k.noErrors(together(len(got), func(w int) error {
		o := []*kit{a, b}[w%2].outbox()
		for {
			some, err := o.Claim(k.Context(), selvage.OutboxClaim{Lane: lane, Limit: 2, Owner: fmt.Sprint(w), Lease: minute})
			got[w] = append(got[w], some...)
			if err != nil || len(some) == 0 {
				return err
			}
		}
	}))
	k.eachOnce(n, got...)
	for w, some := range got {
		for _, d := range some {
			[]*kit{b, a}[w%2].ack(d) // by whom it is told does not matter
		}
	}
}
