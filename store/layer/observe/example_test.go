package observe_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/inmem"
	"github.com/selvagehq/selvage/store/layer/observe"
)

// A program watches what its store does, in its log and in its metrics.
func Example() {
	ctx := context.Background()
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: withoutTimes}))
	metrics := prometheus.NewRegistry()
	store, err := observe.New(inmem.New(inmem.Options{}), observe.Options{Name: "orders", Logger: log, Metrics: metrics})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	set := selvage.ChangeSet{Messages: []selvage.Message{selvage.UserText("two tickets, please")}}
	_, _ = store.Append(ctx, "order-42", set, selvage.New())
	_, _ = store.Append(ctx, "order-42", set, selvage.Exact(7)) // another writer's version
	families, err := metrics.Gather()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, family := range families {
		fmt.Println(family.GetName())
	}
	// Output:
	// level=DEBUG msg="store call" store=orders method=append code=ok thread=order-42 version=1 rows=1
	// level=DEBUG msg="store call" store=orders method=append code=conflict thread=order-42
	// selvage_store_bytes_total
	// selvage_store_call_seconds
	// selvage_store_calls_in_flight
	// selvage_store_rows_total
	// level=DEBUG msg="store call" store=orders method=close code=ok
}

func withoutTimes(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey || a.Key == "took" {
		return slog.Attr{}
	}
	return a
}
