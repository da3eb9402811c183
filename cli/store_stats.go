package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
)

func (a *app) storeStatsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "stats", Short: "Count what the store keeps, and what that takes", Args: noArguments,
		Long: `Count what the store keeps, and what that takes. It reads everything once, so
that it takes time in proportion to the store; nobody has to wait for it.`,
		RunE: a.onStore(forReading, func(ctx context.Context, store selvage.Store) error {
			inspector, ok := selvage.As[selvage.Inspector](store)
			if !ok {
				return lacks("count what it keeps", "inspect")
			}
			info, err := inspector.Inspect(ctx)
			if err != nil {
				return err
			}
			return a.show(&info, func() { a.printStats(&info) })
		}),
	}
}

// lacks is that a store does not offer what a command needs.
func lacks(what, capability string) error {
	return hinted(fmt.Errorf("this store cannot %s: %w", what, selvage.ErrUnsupported),
		"`selvage store capabilities` lists what it can do; it lacks "+capability)
}

func (a *app) printStats(i *selvage.StoreInfo) {
	count := func(n int64) string { return strconv.FormatInt(n, 10) }
	of := func(n int64, part int64, what string) string { return fmt.Sprintf("%d (%d %s)", n, part, what) }
	a.fields([][2]string{
		{"backend", i.Backend}, {"engine", i.Engine}, {"durability", i.Durability},
		{"schema", count(i.Schema)}, {"generation", count(i.Generation)},
		{"threads", of(i.Threads, i.Tombstones, "deleted")}, {"changes", count(i.Changes)}, {"messages", count(i.Messages)},
		{"runs", of(i.Runs, i.OpenRuns, "open")},
		{"on disk", bytesOf(i.Bytes) + ", " + bytesOf(i.Free) + " of it free"},
		{"bodies", bytesOf(i.BodyBytes) + ", " + bytesOf(i.StateBytes) + " of it in changes of the state"},
		{"state cache", bytesOf(i.CacheBytes)},
	})
}

// bytesOf writes a size for people.
func bytesOf(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	size, names := float64(n)/unit, "KMGTP"
	for size >= unit && len(names) > 1 {
		size, names = size/unit, names[1:]
	}
	return fmt.Sprintf("%.1f %ciB", size, names[0])
}
