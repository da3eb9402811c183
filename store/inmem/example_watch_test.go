package inmem_test

import (
	"context"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/inmem"
)

// A server tells a thread's events to a client that connects again: the client
// sends the id of the last event it got, which is the text of its position.
func ExampleStore_watcher() {
	ctx := context.Background()
	store := inmem.New(inmem.Options{})
	defer store.Close()
	for i, text := range []string{"hello", "how are you?", "bye"} {
		set := selvage.ChangeSet{Messages: []selvage.Message{{Role: selvage.RoleUser, Content: selvage.Text(text)}}}
		if _, err := store.Append(ctx, "t", set, selvage.Exact(selvage.Version(i))); err != nil {
			fmt.Println(err)
			return
		}
	}
	watcher, _ := selvage.As[selvage.Watcher](store)
	const lastEventID = "1.0" // of the request
	var after selvage.Position
	if err := after.UnmarshalText([]byte(lastEventID)); err != nil {
		fmt.Println(err)
		return
	}
	for event, err := range selvage.Follow(ctx, watcher, "t", after) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("id: %s\nevent: %s\n", event.Position, event.Kind)
		if event.Position.Version == 3 {
			break // it would wait for the next one
		}
	}
	// Output:
	// id: 2.0
	// event: message
	// id: 3.0
	// event: message
}
