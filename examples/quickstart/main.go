// Quickstart is the program on the first screen of the README: an agent with
// one typed tool, on a thread that survives it.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/selvagehq/selvage/model/sim"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/stores"
	"github.com/selvagehq/selvage/tool"
)

func main() {
	ctx := context.Background()
	store, err := stores.Open(ctx, "./app.db")
	check(err)
	defer store.Close()
	model, _ := sim.New("echo") // offline; openai.New(...) talks to a real one
	track := tool.Func("track", "Says where an order is.", func(_ context.Context, in struct{ Order int }) (string, error) {
		return fmt.Sprintf("order %d is at the depot", in.Order), nil
	}, tool.Options{Effect: "none"})
	agent, err := runner.New(runner.Options{Store: store, Model: model, Tools: []tool.Tool{track}})
	check(err)
	_, err = agent.Recover(ctx) // goes on with what a crash interrupted
	check(err)
	for event, err := range agent.Stream(ctx, "order-42", runner.Text(`call track {"Order": 42}`)) {
		check(err)
		fmt.Print(event.Text)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
