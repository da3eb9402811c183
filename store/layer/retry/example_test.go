package retry_test

import (
	"context"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/inmem"
	"github.com/selvagehq/selvage/store/layer/retry"
)

// The answer to an append is lost on its way. The layer sends the same set
// again; the store knows it, and the thread has the message once.
func Example() {
	ctx := context.Background()
	line := &script{Store: inmem.New(inmem.Options{}), answers: []error{errLost}}
	store := retry.New(line, retry.Options{})
	defer store.Close()

	set := selvage.ChangeSet{Messages: []selvage.Message{selvage.UserText("two tickets, please")}}
	receipt, err := store.Append(ctx, "order-42", set, selvage.New())
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := store.Messages(ctx, "order-42", selvage.MessageQuery{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("version", receipt.Version, "replayed", receipt.Replayed, "messages", len(page.Items), "tries", line.calls)
	// Output:
	// version 1 replayed false messages 1 tries 2
}
