package postgres_test

import (
	"testing"

	"github.com/selvagehq/selvage/internal/pgtest"
	"github.com/selvagehq/selvage/store/storetest"
)

// Without prepared statements, as some poolers want it: with everything in one
// message, and, where a store is opened once more, with parameters of their own.
func TestStoreWithoutPreparing(t *testing.T) {
	t.Parallel()
	storetest.Run(t, config(direct("pool_max_conns=4&default_query_exec_mode=simple_protocol"), "default_query_exec_mode=exec"))
}

// In a tenant, and with prepared statements that are gone at the next
// transaction, until the store has found that out.
func TestTenantStoreBehindPooler(t *testing.T) {
	t.Parallel()
	pooled := func(t *testing.T, url string) string {
		return with(pgtest.NewPooler(t, url).URL(t, url), "pool_max_conns=4")
	}
	storetest.Run(t, storetest.Scoped(config(pooled, "")))
}
