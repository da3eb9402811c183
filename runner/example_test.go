package runner_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model/sim"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/inmem"
	"github.com/selvagehq/selvage/stores"
	"github.com/selvagehq/selvage/tool"
)

// A durable agent: killed at any moment and started again, it goes on.
func Example() {
	ctx := context.Background()
	store, err1 := stores.Open(ctx, "./app.db")
	echo, err2 := sim.New("echo")
	track := tool.Func("track", "Tells where an order is.", func(_ context.Context, in struct{ Order int }) (string, error) {
		return fmt.Sprintf("order %d is on its way", in.Order), nil
	}, tool.Options{Effect: selvage.EffectNone})
	agent, err3 := runner.New(runner.Options{Store: store, Model: echo, Tools: []tool.Tool{track}})
	if err := errors.Join(err1, err2, err3); err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	if _, err := agent.Recover(ctx); err != nil {
		log.Fatal(err)
	}
	for event, err := range agent.Stream(ctx, "order-42", runner.Text(`call track {"Order":42}`)) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(event.Text)
	}
	// Output: Done: order 42 is on its way
}

// A hook keeps a count in the state of the run and ends it when that is
// enough.
func ExampleOptions_hooks() {
	asked := state.NewKey[int64](state.Spec{Name: "asked", Scope: state.ScopeRun, Reducer: state.ReduceSum})
	specs, err := state.NewSpecs(asked.Spec())
	if err != nil {
		log.Fatal(err)
	}
	limit := selvage.Hook{Name: "limit", BeforeInference: func(_ context.Context, at selvage.Scene) (selvage.Effects, error) {
		n, _, err := asked.Get(at.State)
		if err != nil || n == 2 {
			return selvage.Effects{Stop: &selvage.Stop{Code: "asked_twice"}}, err
		}
		patch, err := asked.Update(at.State, 1)
		return selvage.Effects{Patch: patch}, err
	}}
	echo, err := sim.New("echo")
	if err != nil {
		log.Fatal(err)
	}
	noop := tool.Func("noop", "Does nothing.", func(context.Context, struct{}) (string, error) { return "", nil },
		tool.Options{Effect: selvage.EffectNone})
	r, err := runner.New(runner.Options{Model: echo, State: specs, Hooks: []selvage.Hook{limit}, Tools: []tool.Tool{noop}})
	if err != nil {
		log.Fatal(err)
	}
	result, err := r.Ask(context.Background(), runner.Text("loop 9 noop {}"))
	fmt.Println(result.Outcome.Kind, result.Outcome.Code, result.Steps, err)
	// Output: stopped asked_twice 2 <nil>
}

// A run that failed is recorded like any other, and its error says why.
func ExampleRunner_Run_failed() {
	ctx := context.Background()
	echo, err := sim.New("echo")
	if err != nil {
		log.Fatal(err)
	}
	store := inmem.New(inmem.Options{})
	r, err := runner.New(runner.Options{Store: store, Model: echo})
	if err != nil {
		log.Fatal(err)
	}
	result, err := r.Run(ctx, "t1", runner.Text("fail permanent"))

	var failed *runner.FailedError
	if errors.As(err, &failed) {
		fmt.Println(failed.Outcome.Kind, failed.Outcome.Code, "at version", result.Version)
	}
	// Output: failed permanent at version 2
}
