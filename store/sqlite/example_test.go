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
