package storetest

// promise is one sentence of the contract, and how to catch a store that
// breaks it.
type promise struct {
	name string
	rule string // the sentence, after where it stands
	test func(*kit)
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
	}
	return all
}
