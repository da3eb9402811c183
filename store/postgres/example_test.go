package postgres_test

import (
	"context"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/postgres"
)

// A set that was sent and not answered is sent again: its id makes sure that
// it happens once.
func Example() {
	ctx := context.Background()
	url, err := cluster.Create("") // an empty database
	if err != nil {
		fmt.Println(err)
		return
	}
	store, err := postgres.Open(ctx, url, postgres.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	set := selvage.ChangeSet{ID: "order-4711", Messages: []selvage.Message{selvage.UserText("two tickets, please")}}
	for range 2 {
		receipt, err := store.Append(ctx, "box-office", set, selvage.New())
		fmt.Println(receipt.Version, receipt.Replayed, err)
	}
	// Output:
	// 1 false <nil>
	// 1 true <nil>
}
