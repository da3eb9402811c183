package toystore_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/examples/toystore"
	"github.com/selvagehq/selvage/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.Config{
		New: func(*testing.T) selvage.Store { return toystore.New() },
		// Reopen and Share are nil: nothing outlives a Close, and nobody else can open it.
		Lacks: []string{"Fork", "Import", "Repair", "Backup", "Inspect", "Tenancy", "Watcher", "Outbox", "Blobs", "Erase", "Compact",
			"Memory", "Config", "Publications", "Audit", "StreamCheckpoints", "Replay", "Records"},
	})
}
