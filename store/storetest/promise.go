package storetest

import "runtime/debug"

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
}

// groups are all the promises that hold for a store of this configuration.
func groups(cfg Config) []group {
	all := []group{
		{"Append", appendPromises()},
		{"Idempotency", idempotencyPromises()},
		{"Preconditions", preconditionPromises()},
		{"Order", orderPromises()},
		{"Dedupe", dedupePromises()},
		{"Chain", chainPromises()},
		{"Shape", shapePromises()},
		{"IDs", idPromises()},
		{"Limits", limitPromises()},
		{"Runs", runPromises()},
		{"Calls", callPromises()},
		{"Load", loadPromises()},
		{"State", statePromises()},
		{"Messages", messagePromises()},
		{"Changes", changePromises()},
		{"Threads", threadPromises()},
		{"RunList", runListPromises()},
		{"Hierarchy", hierarchyPromises()},
		{"Delete", deletePromises()},
		{"Cursors", cursorPromises()},
		{"Lease", leasePromises()},
		{"Fence", fencePromises()},
		{"Concurrency", concurrencyPromises()},
		{"Close", closePromises()},
		{"Aliasing", aliasingPromises()},
		{"Sequences", sequencePromises(cfg)},
	}
	if cfg.Reopen != nil {
		all = append(all, group{"Reopen", reopenPromises()})
	}
	if cfg.Share != nil {
		all = append(all, group{"Share", sharePromises()})
	}
	return all
}
