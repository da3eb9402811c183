package storetest

import (
	"context"
	"encoding/json"
	"time"

	"github.com/selvagehq/selvage"
)

// shortly is when something expires that was written just before: late enough
// that a slow machine has written it by then.
const shortly = 700 * time.Millisecond

// recordGroups are the promises about what a store keeps besides threads.
func recordGroups(cfg Config) []group {
	return []group{
		{name: "Memory", promises: memoryPromises(cfg), offered: needs[selvage.Memory]},
		{name: "Config", promises: configPromises(cfg), offered: needs[selvage.Config]},
		{name: "Publications", promises: publicationPromises(cfg), offered: needs[selvage.Publications]},
		{name: "Audit", promises: auditPromises(cfg), offered: needs[selvage.Audit]},
		{name: "StreamCheckpoints", promises: streamPromises(cfg), offered: needs[selvage.StreamCheckpoints]},
		{name: "Replay", promises: replayPromises(cfg), offered: needs[selvage.Replay]},
		{name: "Records", promises: recordPromises(), offered: needs[selvage.Sweeper]},
	}
}

// recordPromises hold for all of it.
func recordPromises() []promise {
	return []promise{
		{"EveryMethodIsClosed", "Store: after Close every method matches closed, those of capabilities too.", recordsAreClosed},
		{"CancelledContextIsAnswered", "Store: a cancelled context is answered with its error, by capabilities too.", recordsAreCancelled},
		{"TenantsAreApart", "CONTRACT 15: no call of one tenant sees or changes what another keeps under the same names.", recordTenants},
		{"SweepIsBounded", "Sweeper.Sweep: up to a limit, and nothing that has not expired.", recordSweep},
	}
}

// everyRecord calls each method of the capabilities once and returns the errors
// by name.
func (k *kit) everyRecord(ctx context.Context, id selvage.ThreadID) map[string]error {
	k.Helper()
	errs := make(map[string]error)
	d := note(someone(), "a", `1`)
	_, errs["Memory.Put"] = k.memory().Put(ctx, d, selvage.Any())
	_, errs["Memory.Get"] = k.memory().Get(ctx, d.MemoryName)
	errs["Memory.Delete"] = k.memory().Delete(ctx, d.MemoryName, selvage.Any())
	_, errs["Memory.List"] = k.memory().List(ctx, selvage.MemoryQuery{Owner: d.Owner})
	_, errs["Memory.Clear"] = k.memory().Clear(ctx, d.Owner)
	_, errs["Memory.Owners"] = k.memory().Owners(ctx, selvage.MemoryOwnerQuery{})
	n := newAgent()
	_, errs["Config.Publish"] = k.config().Publish(ctx, valued(n, `1`), selvage.Any())
	_, errs["Config.Rollback"] = k.config().Rollback(ctx, n, 1, selvage.Any())
	errs["Config.Archive"] = k.config().Archive(ctx, n)
	errs["Config.Unarchive"] = k.config().Unarchive(ctx, n)
	_, errs["Config.Resource"] = k.config().Resource(ctx, n)
	_, errs["Config.Version"] = k.config().Version(ctx, n, 1)
	_, errs["Config.Versions"] = k.config().Versions(ctx, selvage.ConfigVersionQuery{Name: n})
	_, errs["Config.Resources"] = k.config().Resources(ctx, selvage.ConfigQuery{})
	_, errs["Config.Prune"] = k.config().Prune(ctx, selvage.ConfigRetention{})
	_, errs["Publications.Publish"] = k.publications().Publish(ctx, selvage.PublicationDraft{})
	_, errs["Publications.Rollback"] = k.publications().Rollback(ctx, "", "p")
	_, errs["Publications.Publication"] = k.publications().Publication(ctx, "")
	_, errs["Publications.List"] = k.publications().List(ctx, selvage.PublicationQuery{})
	_, errs["Audit.Append"] = k.audit().Append(ctx, did("a", "b", "c"))
	_, errs["Audit.Query"] = k.audit().Query(ctx, selvage.AuditQuery{})
	_, errs["Audit.Prune"] = k.audit().Prune(ctx, time.Now().Add(-time.Hour), 1)
	errs["StreamCheckpoints.Put"] = k.streams().Put(ctx, checkpoint(id, "r", "a"))
	_, errs["StreamCheckpoints.Get"] = k.streams().Get(ctx, id, "r")
	errs["StreamCheckpoints.Delete"] = k.streams().Delete(ctx, id, "r")
	s := newStream()
	_, errs["Replay.Append"] = k.replays().Append(ctx, s, wires(s.ID, "a"))
	_, errs["Replay.List"] = k.replays().List(ctx, s, selvage.ReplayQuery{})
	errs["Replay.Redact"] = k.replays().Redact(ctx, s, "a")
	_, errs["Sweeper.Sweep"] = offered[selvage.Sweeper](k).Sweep(ctx, 1)
	return errs
}

func recordsAreClosed(k *kit) {
	k = k.alone()
	id := k.create(says("hello"))
	if err := k.store.Close(); err != nil {
		k.Fatalf("close failed: %v", err)
	}
	for name, err := range k.everyRecord(k.Context(), id) {
		k.class(name+" of a closed store", err, selvage.ErrClosed)
	}
}

func recordsAreCancelled(k *kit) {
	k = k.alone()
	id := k.create(says("hello"))
	ctx, cancel := context.WithCancel(k.Context())
	cancel()
	for name, err := range k.everyRecord(ctx, id) {
		if selvage.Code(err) != "cancelled" {
			k.Errorf("%s with a cancelled context answers %v; want its error", name, err)
		}
	}
	k.equal("owners after calls that were cancelled before", k.owners(selvage.MemoryOwnerQuery{}), []selvage.MemoryOwner{})
	k.equal("entries after calls that were cancelled before", k.actions(selvage.AuditQuery{}), []string{})
}

func recordTenants(k *kit) {
	tenancy, ok := selvage.As[selvage.Tenancy](k.store)
	if !ok {
		return // there is one tenant, and nobody to be apart from
	}
	owner, n, s, run := someone(), newAgent(), newStream(), newRunID()
	var sides []*kit
	for i, name := range []string{"t-" + selvage.NewID(), "t-" + selvage.NewID()} {
		scoped, err := tenancy.Tenant(name)
		if err != nil {
			k.Fatalf("the store of a tenant: %v", err)
		}
		side, mine := k.on(scoped), []string{`"one"`, `"two"`}[i]
		side.append("thread", says("hello"), selvage.New())
		side.remember(note(owner, "a", mine))
		side.publish(n, mine)
		e := side.audited(did("somebody", mine, "x"))
		if e.Tenant != name {
			side.Errorf("an entry of tenant %q says that it is of %q", name, e.Tenant)
		}
		side.putCheckpoint(checkpoint("thread", run, mine))
		side.sent(s, selvage.ReplayDraft{WireID: s.ID, Payload: json.RawMessage(mine)})
		side.publishTogether(selvage.PublicationDraft{ID: "p", Pins: []selvage.ConfigPin{{ConfigName: n}}})
		sides = append(sides, side)
	}
	for i, side := range sides {
		mine := []string{`"one"`, `"two"`}[i]
		side.equal("what a tenant finds", []string{
			string(side.recall(note(owner, "a", "").MemoryName).Value), string(side.version(n, 0).Value), side.getCheckpoint("thread", run).Text,
			side.actions(selvage.AuditQuery{})[0], payloads(side.replayed(s, "", 5)),
		}, []string{mine, mine, mine, mine, "1:" + mine})
		side.equal("how much a tenant finds", []int{len(side.owners(selvage.MemoryOwnerQuery{})), len(side.actions(selvage.AuditQuery{}))}, []int{1, 1})
	}
	sides[0].delete("thread", selvage.DeleteReject)
	if _, err := sides[0].memory().Clear(k.Context(), owner); err != nil {
		k.Fatalf("clear failed: %v", err)
	}
	sides[1].getCheckpoint("thread", run)
	sides[1].recall(note(owner, "a", "").MemoryName)
	k.forgotten(note(owner, "a", "").MemoryName)
}

func recordSweep(k *kit) {
	k = k.alone()
	owner, soon, later := someone(), time.Now().Add(shortly), time.Now().Add(time.Hour)
	for i := range 5 {
		d := note(owner, string(rune('a'+i)), `1`)
		if d.ExpiresAt = &soon; i == 4 {
			d.ExpiresAt = &later
		}
		k.remember(d)
	}
	sweeper := offered[selvage.Sweeper](k)
	k.waitUntil(soon)
	for _, want := range []int{3, 1, 0} {
		if n, err := sweeper.Sweep(k.Context(), 3); err != nil || n != want {
			k.Errorf("sweep up to 3 removed %d, error %v; want %d", n, err, want)
		}
	}
	k.equal("what is left", k.memoryKeys(selvage.MemoryQuery{Owner: owner}), []string{"notes/e"})
}
