package selvage

import "context"

// Tenancy is a store that keeps the threads of several tenants apart. A store
// that was opened is the one of the tenant "", which those who have no tenants
// use, and sees what workers and operators need of all of them; a store that
// Tenant returned sees one tenant and nothing else, and is no Tenancy itself.
type Tenancy interface {
	// Tenant returns the store of the tenant of that name, which need not have
	// any thread yet. Ids are names within it: threads, runs and whatever else
	// other tenants have under the same ids stay theirs, whatever is called.
	// Its cursors are its own, too.
	//
	// It shares files and connections with the store it came from. Closing it
	// ends its own use alone, after its appends under way; closing the store
	// it came from ends both. A name that [CheckID] refuses matches
	// [ErrInvalid]. After Close it matches [ErrClosed].
	Tenant(name string) (Store, error)

	// Tenants returns the names of tenants that have, or had, a thread: those
	// greater than after in the order of their bytes, [MaxPage] at most. No
	// more follow an empty list. The tenant "" is not listed.
	Tenants(ctx context.Context, after string) ([]string, error)
}
