package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/selvagehq/selvage"
)

func deleteTakesDeliveries(k *kit) {
	lane := newLane()
	id := k.create(sends(entry(lane, "a", 1), keyed(lane, "order-1", 2)))
	d := k.claim(lane, 1)[0]
	k.delete(id, selvage.DeleteReject)
	k.class("acknowledging a delivery of a deleted thread", k.outbox().Ack(k.Context(), d), selvage.ErrNotFound)
	k.equal("deliveries of a deleted thread", len(k.deliveries(selvage.DeliveryQuery{Lane: lane})), 0)
	// Its key is free again, and its life after has deliveries of its own.
	k.append(id, sends(keyed(lane, "order-1", 3)), selvage.Recreate())
	k.equal("claimed after it was recreated", toDeliver(k.claim(lane, 10)), []string{"3"})
}

func pruneForgets(k *kit) {
	k = k.alone()
	lane := newLane()
	id := k.create(sends(keyed(lane, "order-1", 1), entry(lane, "a", 2), entry(lane, "b", 3)))
	k.ack(k.claim(lane, 1)[0])
	k.nack(k.claim(lane, 1)[0], selvage.DeliveryFailure{Permanent: true})
	prune := func(before time.Time, want int) {
		k.Helper()
		if n, err := k.outbox().Prune(k.Context(), before); err != nil || n != want {
			k.Errorf("prune before %v forgot %d (%v); want %d", before, n, err, want)
		}
	}
	prune(time.Now().Add(-time.Hour), 0)
	prune(time.Now().Add(time.Hour), 1)
	prune(time.Now().Add(time.Hour), 0)
	k.equal("what is left", toDeliver(k.deliveries(selvage.DeliveryQuery{Lane: lane})), []string{"2", "3"})
	k.append(id, sends(keyed(lane, "order-1", 4)), selvage.Any())
	k.equal("claimed after its key was forgotten", toDeliver(k.claim(lane, 10)), []string{"3", "4"})
}

func listsDeliveries(k *kit) {
	lane := newLane()
	var want []string
	for range 3 {
		r := k.append(newID(), sends(entry(lane, "a", 1), entry(lane, "b", 2), entry(lane, "a", 3)), selvage.New())
		want = append(want, r.OutboxIDs...)
	}
	got := deliveryIDs(k.deliveries(selvage.DeliveryQuery{Lane: lane, Limit: ptr(2)}))
	slices.Sort(got)
	slices.Sort(want)
	k.equal("deliveries, two a page", got, want)
	k.equal("deliveries of a target", len(k.deliveries(selvage.DeliveryQuery{Lane: lane, Target: "b"})), 3)
	k.equal("deliveries of a status", len(k.deliveries(selvage.DeliveryQuery{Lane: lane, Status: selvage.DeliveryDelivered})), 0)
	q := selvage.DeliveryQuery{Lane: lane, Limit: ptr(2)}
	page, err := k.outbox().Deliveries(k.Context(), q)
	if err != nil || page.Next == "" {
		k.Fatalf("the first page has no next (%v)", err)
	}
	q.Cursor, q.Target = page.Next, "a"
	k.class("the cursor of another query", errorOf(k.outbox().Deliveries(k.Context(), q)), selvage.ErrInvalid)
	empty, err := k.outbox().Deliveries(k.Context(), selvage.DeliveryQuery{Lane: lane, Limit: ptr(0)})
	if err != nil || empty.Items == nil || len(empty.Items) != 0 || empty.Next != "" {
		k.Errorf("a page of 0 is %s (%v); want it empty", encode(k, empty), err)
	}
}

func tenantsKeepDeliveries(k *kit) {
	if _, ok := selvage.As[selvage.Tenancy](k.store); !ok {
		return // a tenant's own store has no tenants
	}
	lane, id := newLane(), newID()
	sides := []*kit{k, k.tenant("acme"), k.tenant("other")}
	for i, side := range sides {
		side.append(id, sends(keyed(lane, "order-1", i)), selvage.New())
	}
	for i, side := range sides[1:] {
		d := side.one(lane)
		k.equal("a tenant's delivery", string(d.Payload), fmt.Sprint(i+1))
		k.equal("its tenant", d.Tenant, []string{"acme", "other"}[i])
	}
	mine := sides[1].claim(lane, 10)
	k.equal("claimed by a tenant", toDeliver(mine), []string{"1"})
	k.class("another tenant's acknowledgement", sides[2].outbox().Ack(k.Context(), mine[0]), selvage.ErrNotFound)
	unnamed := mine[0]
	unnamed.Tenant = "" // and so its own namesake, which it has not claimed
	k.class("another tenant's acknowledgement, unnamed", sides[2].outbox().Ack(k.Context(), unnamed), selvage.ErrFenced)
	all := k.claim(lane, 10)
	k.equal("claimed by a worker for all", toDeliver(all), []string{"0", "2"})
	k.equal("the tenant of what it claimed", all[1].Tenant, "other")
	k.ack(all[1])
	k.ack(mine[0])
	k.equal("delivered, of all tenants", len(k.deliveries(selvage.DeliveryQuery{Lane: lane, Status: selvage.DeliveryDelivered})), 2)
	k.equal("delivered, of one", len(sides[1].deliveries(selvage.DeliveryQuery{Lane: lane, Status: selvage.DeliveryDelivered})), 1)
	if n, err := sides[2].outbox().Prune(k.Context(), time.Now().Add(time.Hour)); err != nil || n != 1 {
		k.Errorf("a tenant's prune forgot %d (%v); want its own one", n, err)
	}
}

func outboxOutlives(k *kit) {
	if k.reopen == nil {
		return // nothing outlives such a store
	}
	k = k.alone()
	lane := newLane()
	k.create(sends(keyed(lane, "order-1", 1), entry(lane, "a", 2), entry(lane, "a", 3)))
	all := k.claim(lane, 2)
	k.nack(all[1], selvage.DeliveryFailure{Cause: "down", Permanent: true})
	before := k.deliveries(selvage.DeliveryQuery{Lane: lane})
	k = k.on(k.reopen(k.store))
	k.equal("deliveries after the store was opened again", k.deliveries(selvage.DeliveryQuery{Lane: lane}), before)
	k.ack(all[0])
	k.equal("claimed after the store was opened again", toDeliver(k.claim(lane, 10)), []string{"3"})
}

func outboxClosed(k *kit) {
	k = k.alone()
	o, ctx := k.outbox(), k.Context()
	if err := k.store.Close(); err != nil {
		k.Fatalf("close failed: %v", err)
	}
	d := selvage.Delivery{ID: "t/1.0", Token: "t"}
	for what, err := range map[string]error{
		"claim": errorOf(o.Claim(ctx, selvage.OutboxClaim{Lane: "l", Limit: 1, Lease: minute})), "ack": o.Ack(ctx, d),
		"nack": errorOf(o.Nack(ctx, d, selvage.DeliveryFailure{})), "retry": o.Retry(ctx, d),
		"prune": errorOf(o.Prune(ctx, time.Now())), "list": errorOf(o.Deliveries(ctx, selvage.DeliveryQuery{})),
	} {
		k.class(what, err, selvage.ErrClosed)
	}
}
