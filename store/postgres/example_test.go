package postgres_test

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

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

// A tool books a seat: the row in the program's own table and the answer in
// the thread are committed together, or neither is.
func ExampleStore_AppendTx() {
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
	conn, err := pgx.Connect(ctx, url) // the program's own connection
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, `CREATE TABLE seats (seat text PRIMARY KEY, version bigint)`); err != nil {
		fmt.Println(err)
		return
	}

	book := func(seat string, at selvage.Version) error {
		said := selvage.Message{Role: selvage.RoleAssistant, Content: selvage.Text("seat " + seat + " is yours")}
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			receipt, err := store.AppendTx(ctx, tx, "trip", selvage.ChangeSet{Messages: []selvage.Message{said}}, selvage.Exact(at))
			if err != nil {
				return err
			}
			tag, err := tx.Exec(ctx, `INSERT INTO seats VALUES ($1, $2) ON CONFLICT DO NOTHING`, seat, receipt.Version)
			if err == nil && tag.RowsAffected() == 0 {
				err = fmt.Errorf("seat %s is taken", seat)
			}
			return err
		})
	}
	fmt.Println(book("12A", 0))
	fmt.Println(book("12A", 1))
	head, err := store.Load(ctx, "trip", selvage.LoadOptions{})
	fmt.Println(head.Thread.Version, head.Messages[0].Text(), err)
	// Output:
	// <nil>
	// seat 12A is taken
	// 1 seat 12A is yours <nil>
}
