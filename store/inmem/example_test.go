package inmem_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/inmem"
)

// Two writers computed a change from the same version. One wins; the other
// reads what came between and sends its change again.
func Example() {
	ctx := context.Background()
	store := inmem.New(inmem.Options{})
	defer store.Close()

	create := selvage.ChangeSet{Messages: []selvage.Message{selvage.UserText("two tickets, please")}}
	receipt, err := store.Append(ctx, "order-42", create, selvage.New())
	if err != nil {
		fmt.Println(err)
		return
	}
	seats := selvage.ChangeSet{Patches: []selvage.StatePatch{{Ops: state.Patch{state.Set("/seats", state.Int(2))}}}}
	_, _ = store.Append(ctx, "order-42", seats, selvage.Exact(receipt.Version)) // the other writer

	price := selvage.ChangeSet{Patches: []selvage.StatePatch{{Ops: state.Patch{state.Set("/price", state.Int(58))}}}}
	_, err = store.Append(ctx, "order-42", price, selvage.Exact(receipt.Version))
	var conflict *selvage.ConflictError
	if errors.As(err, &conflict) {
		fmt.Println(conflict)
		_, err = store.Append(ctx, "order-42", price, selvage.Exact(conflict.Actual))
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	head, err := store.Load(ctx, "order-42", selvage.LoadOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(head.Thread.Version, head.State)
	// Output:
	// thread "order-42" is at version 2, not 1
	// 3 {"price":58,"seats":2}
}

// What is remembered about a user outlives the threads. It is a capability,
// found with selvage.As on any store that has it, through decorators too.
func Example_memory() {
	ctx := context.Background()
	store := inmem.New(inmem.Options{})
	defer store.Close()

	memory, ok := selvage.As[selvage.Memory](store)
	if !ok {
		fmt.Println("this store remembers nothing")
		return
	}
	name := selvage.MemoryName{Owner: selvage.UserMemory("alice"), Namespace: "facts", Key: "seat"}
	entry, err := memory.Put(ctx, selvage.MemoryDraft{MemoryName: name, Value: []byte(`"window"`)}, selvage.New())
	if err != nil {
		fmt.Println(err)
		return
	}
	// Somebody else changes it first: the version says so, and nothing is lost.
	if _, err = memory.Put(ctx, selvage.MemoryDraft{MemoryName: name, Value: []byte(`"aisle"`)}, selvage.Any()); err != nil {
		fmt.Println(err)
		return
	}
	_, err = memory.Put(ctx, selvage.MemoryDraft{MemoryName: name, Value: []byte(`"none"`)}, selvage.Exact(entry.Version))
	fmt.Println(err)

	// Forgetting a user leaves nothing.
	forgotten, err := memory.Clear(ctx, selvage.UserMemory("alice"))
	fmt.Println(forgotten, err)
	// Output:
	// put memory: memory user:alice facts/seat is at version 2, not 1
	// 1 <nil>
}
