package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

// A thread is there again when its file is opened by another process, and an
// append that was not sure to have arrived is simply sent again.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "selvage")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "selvage.db")

	store, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	set := selvage.ChangeSet{ID: selvage.NewID(), Messages: []selvage.Message{selvage.UserText("remember APPLE-739")}}
	receipt, err := store.Append(ctx, "t1", set, selvage.New())
	fmt.Println(receipt.Version, receipt.Replayed, errors.Join(err, store.Close()))

	store, err = sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	receipt, err = store.Append(ctx, "t1", set, selvage.New())
	fmt.Println(receipt.Version, receipt.Replayed, err)
	head, err := store.Load(ctx, "t1", selvage.LoadOptions{})
	fmt.Println(head.Messages[0].Text(), errors.Join(err, store.Close()))
	// Output:
	// 1 false <nil>
	// 1 true <nil>
	// remember APPLE-739 <nil>
}

// A tool books a seat: the row in the program's own table and the answer in
// the thread are committed together, or neither is.
func ExampleStore_AppendTx() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "selvage")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(ctx, filepath.Join(dir, "selvage.db"), sqlite.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	book := func(seat string) (selvage.Receipt, error) {
		said := selvage.Message{Role: selvage.RoleAssistant, Content: selvage.Text("seat " + seat + " is yours")}
		pre := selvage.Any()
		if seat == "12A" {
			pre = selvage.New()
		}
		return store.AppendTx(ctx, "trip", selvage.ChangeSet{Messages: []selvage.Message{said}}, pre, func(tx *sqlite.Tx) error {
			if _, err := tx.Exec(`CREATE TABLE IF NOT EXISTS seats (seat TEXT PRIMARY KEY, change_set TEXT NOT NULL)`); err != nil {
				return err
			}
			_, err := tx.Exec(`INSERT OR IGNORE INTO seats VALUES (?, ?)`, seat, tx.Receipt().ChangeID)
			if err != nil {
				return err
			}
			var taken int
			if err := tx.QueryRow(`SELECT count(*) FROM seats`).Scan(&taken); err != nil {
				return err
			}
			if taken > 1 {
				return errors.New("the plane is full")
			}
			return nil
		})
	}
	receipt, err := book("12A")
	fmt.Println(receipt.Version, err)
	_, err = book("12B")
	fmt.Println(err)
	head, err := store.Load(ctx, "trip", selvage.LoadOptions{})
	fmt.Println(head.Thread.Version, head.Messages[0].Text(), err)
	// Output:
	// 1 <nil>
	// append to thread "trip": the plane is full
	// 1 seat 12A is yours <nil>
}
