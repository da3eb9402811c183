package storetest

import (
	"encoding/json"
	"strings"

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
