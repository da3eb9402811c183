package inmem_test

import (
	"fmt"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/linear"
	"github.com/selvagehq/selvage/internal/soak"
	"github.com/selvagehq/selvage/store/inmem"
)

// TestLinear: whatever clients do at the same time, each could have been alone.
func TestLinear(t *testing.T) {
	t.Parallel()
	s := inmem.New(inmem.Options{})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	for n := range soak.Times(3) {
		w := linear.Workload{Clients: 8, Threads: 4, Ops: 100, Seed: uint64(n), Prefix: fmt.Sprintf("%d-", n)}
		w.Test(t, func(int) selvage.Store { return s })
	}
}
