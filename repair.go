package selvage

import "context"

// Repairer is a store that can make every view of a log anew: heads, runs,
// calls, the index of messages and ids, the links between changes. The log
// itself is the truth and is not changed; what is damaged there cannot be
// made again.
type Repairer interface {
	// Repair makes the views of one thread, or of all threads of all tenants,
	// from their logs, compares them with those that are there, and puts them
	// in their place where they differ. Each thread is done in a transaction
	// of its own, so that a repair that broke off is gone on with by repeating
	// it. Cached state is dropped where a thread is repaired. Leases, deliveries
	// and what is kept besides threads are left alone.
	//
	// A thread whose log is damaged is told with [RepairedThread.Lost] and
	// left as it is. A thread that never was matches [ErrNotFound]. On an error
	// the report covers what was done before it.
	Repair(ctx context.Context, req RepairRequest) (RepairReport, error)
}

// RepairRequest says what to repair.
type RepairRequest struct {
	// Thread limits the repair to one thread of the store's own tenant.
	Thread ThreadID
	// DryRun tells what would be changed and changes nothing.
	DryRun bool
	// Told, if not nil, is called after every thread.
	Told func(RepairedThread)
}

// RepairReport sums a repair up.
type RepairReport struct {
	Threads  int `json:"threads"`  // looked at
	Repaired int `json:"repaired"` // of them; with DryRun: that need it
	Lost     int `json:"lost"`     // whose log is damaged
	// Orphans are changes that belong to no thread that is known. They are left
	// alone.
	Orphans int `json:"orphans"`
}

// RepairedThread tells what was found out about one thread.
type RepairedThread struct {
	Tenant  string   `json:"tenant,omitempty"`
	ID      ThreadID `json:"id"`
	Version Version  `json:"version"` // where its log ends
	// Changed names the views that were not what the log says: head, runs,
	// calls, ids, marks, links.
	Changed []string `json:"changed,omitempty"`
	// Lost says why the log cannot be read; it matches [ErrCorrupt].
	Lost error `json:"-"`
}

// Count adds what was found out about a thread.
func (r *RepairReport) Count(t *RepairedThread) {
	r.Threads++
	switch {
	case t.Lost != nil:
		r.Lost++
	case len(t.Changed) > 0:
		r.Repaired++
	}
}
