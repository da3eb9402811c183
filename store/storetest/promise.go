package storetest

import (
	"runtime/debug"
	"slices"

	"github.com/selvagehq/selvage"
)

// promise is one sentence of the contract, and how to catch a store that
// breaks it.
type promise struct {
	name string
	rule string // the sentence, after where it stands
	test func(*kit)
}

// check tests the promise and, if it is broken, says what was promised.
func (p promise) check(k *kit) {
	k.Helper()
	defer func() {
		k.Helper()
		// What a store answers may be too far from the contract for the test
		// to make anything of it. The other promises are tested all the same.
		if r := recover(); r != nil {
			k.Errorf("the test could make nothing of what the store answered: %v\n%s", r, debug.Stack())
		}
		if k.Failed() {
			k.Logf("the promise is: %s", p.rule)
		}
	}()
	p.test(k)
}

// group is the promises about one matter. They are tested side by side on one
// store, each on threads of its own.
type group struct {
	name     string
	promises []promise
	// offered reports whether a store has the capability that the group is
	// about; nil if every store has it.
	offered func(selvage.Store) bool
}

// needs reports whether a store has the capability C.
func needs[C any](s selvage.Store) bool {
	_, ok := selvage.As[C](s)
	return ok
}

// groups are all the promises that hold for a store of this configuration.
func groups(cfg Config) []group {
	all := []group{
		{name: "Append", promises: appendPromises()},
		{name: "Idempotency", promises: idempotencyPromises()},
		{name: "Preconditions", promises: preconditionPromises()},
		{name: "Order", promises: orderPromises()},
		{name: "Dedupe", promises: dedupePromises()},
		{name: "Chain", promises: chainPromises()},
		{name: "Shape", promises: shapePromises()},
		{name: "IDs", promises: idPromises()},
		{name: "Limits", promises: limitPromises()},
		{name: "Runs", promises: runPromises()},
		{name: "Calls", promises: callPromises()},
		{name: "Load", promises: loadPromises()},
		{name: "State", promises: statePromises()},
		{name: "Messages", promises: messagePromises()},
		{name: "Changes", promises: changePromises()},
		{name: "Threads", promises: threadPromises()},
		{name: "RunList", promises: runListPromises()},
		{name: "Hierarchy", promises: hierarchyPromises()},
		{name: "Delete", promises: deletePromises()},
		{name: "Cursors", promises: cursorPromises()},
		{name: "Lease", promises: leasePromises()},
		{name: "Fence", promises: fencePromises()},
		{name: "Concurrency", promises: concurrencyPromises()},
		{name: "Close", promises: closePromises()},
		{name: "Aliasing", promises: aliasingPromises()},
		{name: "Fork", promises: forkPromises(), offered: needs[selvage.Forker]},
		{name: "Rewind", promises: rewindPromises(cfg)},
		{name: "Sequences", promises: sequencePromises(cfg)},
		{name: "Import", promises: importPromises(), offered: needs[selvage.Importer]},
		{name: "Repair", promises: repairPromises(), offered: needs[selvage.Repairer]},
		{name: "Backup", promises: backupPromises(), offered: needs[selvage.Backup]},
		{name: "Inspect", promises: inspectPromises(), offered: needs[selvage.Inspector]},
		{name: "Tenancy", promises: tenancyPromises(), offered: needs[selvage.Tenancy]},
		{name: "Watcher", promises: watcherPromises(), offered: needs[selvage.Watcher]},
		{name: "Outbox", promises: outboxPromises(), offered: needs[selvage.Outbox]},
		{name: "Blobs", promises: blobPromises(), offered: needs[selvage.Blobs]},
	}
	if cfg.Reopen != nil {
		all = append(all, group{name: "Reopen", promises: reopenPromises()},
			group{name: "WatcherReopen", promises: watcherReopenPromises(), offered: needs[selvage.Watcher]})
	}
	if cfg.Share != nil {
		all = append(all, group{name: "Share", promises: sharePromises()},
			group{name: "WatcherShare", promises: watcherSharePromises(), offered: needs[selvage.Watcher]})
	}
	return slices.Concat(all, retentionGroups(cfg), recordGroups(cfg))
}
