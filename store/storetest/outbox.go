package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
)

func outboxPromises() []promise {
	return []promise{
		{"ReceiptNamesDeliveries", "Receipt: it names what the set enqueued, in its order, and so does the receipt of a replay.", receiptNamesDeliveries},
		{"PayloadIsKept", "CONTRACT 20: a delivery's payload is that of its change, byte for byte.", payloadIsKept},
		{"ClaimHonoursItsFilters", "Outbox.Claim: it honours lane, target and limit.", claimHonoursFilters},
		{"ClaimFollowsTime", "Outbox.Claim: what is not due yet is not claimed; what is due comes in the order of time, then of the store.", claimFollowsTime},
		{"OneOwner", "Outbox.Claim: no two claims get the same delivery, however many race, and none is left out.", oneOwner},
		{"AckEnds", "Outbox.Ack: it ends a delivery; to acknowledge again is no error.", ackEnds},
		{"LateAckIsRefused", "Outbox.Ack: a claim that was taken over matches fenced, one that only ran out is still good.", lateAckIsRefused},
		{"CrashLoopsEnd", "Outbox.Claim: a delivery that is claimed as often as it may be and never acknowledged becomes a dead letter.", crashLoopsEnd},
		{"NackTriesAgain", "Outbox.Nack: what failed is due again when it was said, until its attempts are used up.", nackTriesAgain},
		{"PermanentFailureIsDead", "Outbox.Nack: a failure that lasts makes a dead letter at once.", permanentFailureIsDead},
		{"RetryRevives", "Outbox.Retry: a dead letter is due again, with all its attempts; what is not dead is not retried.", retryRevives},
		{"DedupeIsOneDelivery", "OutboxEntry.DedupeKey: the same key and payload is the same delivery, whichever change asks for it.", dedupeIsOneDelivery},
		{"DedupeWithOtherPayload", "OutboxEntry.DedupeKey: a key that is known with another payload is already_exists, and nothing is written.", dedupeOtherPayload},
		{"DedupeUnderConcurrency", "OutboxEntry.DedupeKey: of many who ask at once one makes the delivery.", deliveryKeysUnderConcurrency},
		{"RefusedSetsEnqueueNothing", "ARCHITECTURE 1: a set that is refused enqueues nothing; one that is replayed nothing more.", refusedEnqueueNothing},
		{"Shape", "OutboxEntry: what an entry lacks or has too much of is refused by name.", outboxShape},
		{"BadInput", "Outbox: claims, failures, queries and ids that cannot be are invalid.", badOutboxInput},
		{"DeleteTakesDeliveries", "CONTRACT 13: every dependent row goes with the thread; what was claimed is then not_found.", deleteTakesDeliveries},
		{"PruneForgets", "Outbox.Prune: what was delivered before a time is forgotten, with its dedupe key; nothing else is.", pruneForgets},
		{"ListsPages", "Outbox.Deliveries: pages hold each delivery that the query selects once; a cursor belongs to its query.", listsDeliveries},
		{"TenantsKeepTheirs", "CONTRACT 15: a tenant's store sees its own deliveries; the store that was opened sees all, each naming its tenant.", tenantsKeepDeliveries},
		{"OutlivesTheStore", "CONTRACT 20: deliveries are stored; who opens the store again finds them as they stood.", outboxOutlives},
		{"ClaimsAcross", "Outbox.Claim: no two processes claim the same delivery.", claimsAcross},
		{"Closed", "Store: after Close every method matches closed.", outboxClosed},
	}
}

func (k *kit) outbox() selvage.Outbox {
	k.Helper()
	o, ok := selvage.As[selvage.Outbox](k.store)
	if !ok {
		k.Fatalf("a %T offers no Outbox", k.store)
	}
	return o
}

// entry asks for a delivery in a lane.
func entry(lane, target string, payload any) selvage.OutboxEntry {
	data, err := json.Marshal(payload)
	if err != nil {
		panic(err) // what tests ask for has JSON
	}
	return selvage.OutboxEntry{Lane: lane, Target: target, Payload: data}
}

func sends(entries ...selvage.OutboxEntry) selvage.ChangeSet {
	return selvage.ChangeSet{Outbox: entries}
}

// newLane is a lane that nobody else uses.
func newLane() string { return "lane-" + selvage.NewID() }

// claim claims up to limit deliveries of a lane for a minute.
func (k *kit) claim(lane string, limit int) []selvage.Delivery {
	k.Helper()
	return k.claimFor(selvage.OutboxClaim{Lane: lane, Limit: limit, Owner: "worker", Lease: minute})
}

func (k *kit) claimFor(c selvage.OutboxClaim) []selvage.Delivery {
	k.Helper()
	out, err := k.outbox().Claim(k.Context(), c)
	if err != nil {
		k.Fatalf("claim failed: %v", err)
	}
	for _, d := range out {
		if d.Token == "" || d.Status != selvage.DeliveryDue || d.Owner != c.Owner {
			k.Errorf("a claim of %q answers the delivery %s; want a token, the status due and its owner", c.Owner, encode(k, d))
		}
		k.isStored("the end of a claim", d.AvailableAt)
	}
	return out
}

func (k *kit) ack(d selvage.Delivery) {
	k.Helper()
	if err := k.outbox().Ack(k.Context(), d); err != nil {
		k.Fatalf("acknowledge %q failed: %v", d.ID, err)
	}
}

func (k *kit) nack(d selvage.Delivery, f selvage.DeliveryFailure) selvage.DeliveryStatus {
	k.Helper()
	status, err := k.outbox().Nack(k.Context(), d, f)
	if err != nil {
		k.Fatalf("give %q back failed: %v", d.ID, err)
	}
	return status
}

// deliveries lists what a query selects.
func (k *kit) deliveries(q selvage.DeliveryQuery) []selvage.Delivery {
	k.Helper()
	return walk(k, k.deliveryPages(q))
}

func (k *kit) deliveryPages(q selvage.DeliveryQuery) func(selvage.Cursor) ([]selvage.Delivery, selvage.Cursor, error) {
	return func(c selvage.Cursor) ([]selvage.Delivery, selvage.Cursor, error) {
		q.Cursor = c
		p, err := k.outbox().Deliveries(k.Context(), q)
		return p.Items, p.Next, err
	}
}

// one is the only delivery of a lane.
func (k *kit) one(lane string) selvage.Delivery {
	k.Helper()
	all := k.deliveries(selvage.DeliveryQuery{Lane: lane})
	if len(all) != 1 {
		k.Fatalf("the lane has %d deliveries, %s; want one", len(all), encode(k, all))
	}
	return all[0]
}

func deliveryIDs(all []selvage.Delivery) []string {
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = all[i].ID
	}
	return ids
}

func toDeliver(all []selvage.Delivery) []string {
	out := make([]string, len(all))
	for i := range all {
		out[i] = string(all[i].Payload)
	}
	return out
}

func receiptNamesDeliveries(k *kit) {
	id, lane := newID(), newLane()
	keyed := entry(lane, "a", 2)
	keyed.DedupeKey = "key"
	set := sends(entry(lane, "a", 1), keyed, entry(lane, "b", 3))
	set.ID, set.Messages = "set-1", []selvage.Message{say("", "hello")}
	r := k.append(id, set, selvage.New())
	if len(r.OutboxIDs) != 3 || r.OutboxIDs[0] == r.OutboxIDs[2] {
		k.Fatalf("a set of three entries got the receipt %s; want three ids", encode(k, r))
	}
	k.append(id, says("more"), selvage.Any())
	k.replay(id, set, selvage.New(), r)
	all := k.claim(lane, 10)
	k.equal("the ids of what is claimed", deliveryIDs(all), r.OutboxIDs)
	for i, d := range all {
		if d.ThreadID != id || d.Version != 1 || d.Index != i || d.MaxAttempts != selvage.DefaultOutboxAttempts || d.Attempts != 1 {
			k.Errorf("delivery %d is %s; want it named by thread, version and index, tried once of %d times", i, encode(k, d), selvage.DefaultOutboxAttempts)
		}
	}
	if all[1].DedupeKey != "key" {
		k.Errorf("a delivery says the dedupe key %q; want %q", all[1].DedupeKey, "key")
	}
	k.replay(id, set, selvage.New(), r)
	k.verify(k.log(id))
}

func payloadIsKept(k *kit) {
	lane := newLane()
	var entries []selvage.OutboxEntry
	var want []string
	for _, text := range rawTexts {
		entries = append(entries, selvage.OutboxEntry{Lane: lane, Target: "größe <&> 'x'", Payload: json.RawMessage(text)})
		want = append(want, text)
	}
	entries = append(entries, selvage.OutboxEntry{Lane: lane, Target: "nothing"})
	want = append(want, "null")
	big := entry(lane, "big", strings.Repeat("x", selvage.MaxOutboxPayload-2))
	entries = append(entries, big)
	want = append(want, string(big.Payload))
	id := k.create(sends(entries...))
	all := k.claim(lane, 100)
	k.equal("payloads", toDeliver(all), want)
	k.equal("the target", all[0].Target, "größe <&> 'x'")
	k.equal("payloads in a list", toDeliver(k.deliveries(selvage.DeliveryQuery{ThreadID: id})), want)
}

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
	k.tick()
	k.equal("claimed before its time", toDeliver(k.claim(lane, 10)), []string{`"past"`, `"now"`, `"now too"`})
	due := k.deliveries(selvage.DeliveryQuery{Lane: lane})[0]
	if want := at.UTC().Truncate(selvage.TimePrecision); !due.AvailableAt.Equal(want) {
		k.Errorf("a delivery is available at %v; want %v", due.AvailableAt, want)
	}
	k.waitUntil(at)
	k.equal("claimed at its time", toDeliver(k.claim(lane, 10)), []string{`"later"`})
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
	if status := k.nack(d, selvage.DeliveryFailure{Cause: "no route\x00\xff", After: 300 * time.Millisecond}); status != selvage.DeliveryDue {
		k.Errorf("after its first failure a delivery is %s; want it due", status)
	}
	k.class("acknowledging what was given back", k.outbox().Ack(k.Context(), d), selvage.ErrFenced)
	waiting := k.one(lane)
	if waiting.LastError != "no route" || waiting.Status != selvage.DeliveryDue || waiting.Attempts != 1 {
		k.Errorf("a delivery that failed is %s; want it due, tried once, with the cause", encode(k, waiting))
	}
	k.equal("claimed before it is due again", toDeliver(k.claim(lane, 1)), []string{})
	k.waitUntil(waiting.AvailableAt)
	d = k.claim(lane, 1)[0]
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
