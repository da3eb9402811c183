package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
)

// capability is something that not every store can do.
type capability struct {
	Name    string `json:"name"`
	Does    string `json:"does"`
	Offered bool   `json:"offered"`
}

// capabilities lists what stores may offer besides threads, and how to find
// it.
var capabilities = []struct {
	name, does string
	offered    func(selvage.Store) bool
}{
	{"leases", "one runner a thread, fenced appends", offers[selvage.Leaser]},
	{"watch", "tell what happens to threads", offers[selvage.Watcher]},
	{"integrity", "check the files or tables themselves", offers[selvage.Checker]},
	{"import", "take in logs of other stores, headers unchanged", offers[selvage.Importer]},
	{"fork", "begin a thread where another was", offers[selvage.Forker]},
	{"erase", "take the content of messages out of a history", offers[selvage.Eraser]},
	{"compact", "give up the history of states", offers[selvage.Compactor]},
	{"outbox", "hand out deliveries that change sets ask for", offers[selvage.Outbox]},
	{"blobs", "keep files and images that messages refer to", offers[selvage.Blobs]},
	{"tenancy", "keep tenants apart", offers[selvage.Tenancy]},
	{"repair", "make views anew from the log", offers[selvage.Repairer]},
	{"memory", "remember things beyond threads", offers[selvage.Memory]},
	{"config", "keep versioned configuration", offers[selvage.Config]},
	{"publications", "publish versions together", offers[selvage.Publications]},
	{"audit", "keep who changed what", offers[selvage.Audit]},
	{"stream-checkpoints", "keep interrupted answers", offers[selvage.StreamCheckpoints]},
	{"replay", "send again what was sent", offers[selvage.Replay]},
	{"sweep", "remove what has expired", offers[selvage.Sweeper]},
	{"backup", "be written out as a whole, and made again", offers[selvage.Backup]},
	{"inspect", "count what is kept", offers[selvage.Inspector]},
}

func offers[C any](s selvage.Store) bool {
	_, ok := selvage.As[C](s)
	return ok
}

func (a *app) storeCapabilitiesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "capabilities", Short: "List what the store can do besides keeping threads", Args: noArguments,
		RunE: a.onStore(forReading, func(_ context.Context, store selvage.Store) error {
			all := make([]capability, len(capabilities))
			for i, c := range capabilities {
				all[i] = capability{c.name, c.does, c.offered(store)}
			}
			list := listing[capability]{id: func(c *capability) string { return c.Name }, item: func(c *capability) any { return c }, prose: a.printCapabilities}
			list.finish(a, list.emit(a, []capability{}, all), "")
			return nil
		}),
	}
}

func (a *app) printCapabilities(all []capability) {
	rows := make([][]string, len(all))
	for i, c := range all {
		rows[i] = []string{c.Name, yesNo(c.Offered), c.Does}
	}
	a.table([]string{"CAPABILITY", "OFFERED", "DOES"}, rows)
}
