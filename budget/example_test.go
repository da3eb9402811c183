package budget_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/budget"
	"github.com/selvagehq/selvage/store/inmem"
)

// Two children want more than there is: the second is refused until the first
// has given back what it did not use.
func Example() {
	ctx, store := context.Background(), inmem.New(inmem.Options{})
	three, two := 3*selvage.Dollar, 2*selvage.Dollar
	_, _ = store.Append(ctx, "t", selvage.ChangeSet{Runs: []selvage.RunUpdate{{ID: "parent", Status: selvage.RunRunning,
		Spec: &selvage.RunSpec{Limits: selvage.Limits{Spend: &three}}}}}, selvage.New())
	b := budget.Book{Store: store, Thread: "t", Run: "parent"}

	_, _ = b.Reserve(ctx, selvage.ChildRun{ThreadID: "t1", RunID: "first"}, budget.Bounds{Spend: &two}, budget.Bounds{})
	_, err := b.Reserve(ctx, selvage.ChildRun{ThreadID: "t2", RunID: "second"}, budget.Bounds{Spend: &two}, budget.Bounds{})
	var refused *budget.RefusedError
	fmt.Println(errors.As(err, &refused), refused)

	_, _ = b.Settle(ctx, "first", budget.Amount{Spend: selvage.Dollar / 2})
	second, err := b.Reserve(ctx, selvage.ChildRun{ThreadID: "t2", RunID: "second"}, budget.Bounds{Spend: &two}, budget.Bounds{})
	fmt.Println(second.Reserved.Spend, err)
	// Output:
	// true spend_exceeded: the run may spend $3, of which $2 is spent or reserved, and $2 was asked for
	// 2 <nil>
}
