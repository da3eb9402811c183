package postgres_test

import (
	"sync"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/pgtest"
	"github.com/selvagehq/selvage/store/storetest"
)

// Without prepared statements, as some poolers want it.
func TestStoreExec(t *testing.T) {
	t.Parallel()
	conform(t, "pool_max_conns=4&default_query_exec_mode=exec")
}

func TestStoreSimpleProtocol(t *testing.T) {
	t.Parallel()
	conform(t, "pool_max_conns=4&default_query_exec_mode=simple_protocol")
}

// With prepared statements that are gone at the next transaction, until the
// store has found that out.
func TestStoreBehindPooler(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex // guards urls
	urls := make(map[selvage.Store]string)
	opened := func(t *testing.T, url string) selvage.Store {
		s := open(t, url)
		mu.Lock()
		defer mu.Unlock()
		urls[s] = url
		return s
	}
	storetest.Run(t, storetest.Config{
		New: func(t *testing.T) selvage.Store {
			url := database(t)
			return opened(t, with(pgtest.NewPooler(t, url).URL(t, url), "pool_max_conns=4"))
		},
		Share: func(t *testing.T, first selvage.Store) selvage.Store {
			mu.Lock()
			url := urls[first]
			mu.Unlock()
			return opened(t, url)
		},
	})
}
