package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model/sim"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/store/inmem"
	"github.com/selvagehq/selvage/tool"
)

// agentWith makes an agent with one tool, as each process of an example does.
func agentWith(store selvage.Store, now func() time.Time, t tool.Tool) *runner.Runner {
	echo, err := sim.New("echo")
	if err != nil {
		log.Fatal(err)
	}
	agent, err := runner.New(runner.Options{Store: store, Model: echo, Tools: []tool.Tool{t}, Now: now})
	if err != nil {
		log.Fatal(err)
	}
	return agent
}

// A call that is run again after it waited does not pay twice.
func ExampleStep() {
	ctx := context.Background()
	store := inmem.New(inmem.Options{})
	order := tool.Func("order", "Orders a book.", func(ctx context.Context, _ struct{}) (string, error) {
		receipt, err := runner.Step(ctx, "pay", func(context.Context) (string, error) {
			fmt.Println("paying")
			return "receipt 7", nil
		})
		if err != nil {
			return "", err
		}
		address, err := runner.Await[string](ctx, "address")
		if err != nil {
			return "", err
		}
		return receipt + ", sent to " + address, nil
	}, tool.Options{Effect: selvage.EffectIdempotent})

	waits, err1 := agentWith(store, nil, order).Run(ctx, "t1", runner.Text("call order {}"))
	err2 := runner.Signal(ctx, store, waits.RunID, "address", json.RawMessage(`"12 Elm Street"`))
	// In another process, a day later:
	done, err3 := agentWith(store, nil, order).Resume(ctx, waits.RunID, runner.ResumeOptions{})
	fmt.Println(done.Text, errors.Join(err1, err2, err3))
	// Output:
	// paying
	// Done: receipt 7, sent to 12 Elm Street <nil>
}

// A call sleeps for a day, in which no process need live.
func ExampleSleep() {
	ctx := context.Background()
	store := inmem.New(inmem.Options{})
	now := time.Date(2030, 1, 1, 9, 0, 0, 0, time.UTC)
	remind := tool.Func("remind", "Reminds of something a day later.", func(ctx context.Context, _ struct{}) (string, error) {
		if err := runner.Sleep(ctx, "a day", 24*time.Hour); err != nil {
			return "", err
		}
		return "time to go", nil
	}, tool.Options{Effect: selvage.EffectIdempotent})

	waits, err := agentWith(store, func() time.Time { return now }, remind).Run(ctx, "t1", runner.Text("call remind {}"))
	fmt.Println(waits.Waiting.Message, err)

	now = now.Add(25 * time.Hour)
	recovered, err := agentWith(store, func() time.Time { return now }, remind).Recover(ctx)
	fmt.Println(recovered[0].Result.Text, err)
	// Output:
	// remind sleeps until 2030-01-02T09:00:00Z <nil>
	// Done: time to go <nil>
}

// A signal may come before anybody waits for it.
func ExampleAwait() {
	ctx := context.Background()
	store := inmem.New(inmem.Options{})
	ship := tool.New("ship", "Ships an order when it is paid.", func(ctx context.Context, c *tool.Call, _ struct{}) (string, error) {
		if err := runner.Signal(ctx, store, c.RunID, "paid", json.RawMessage(`{"by":"ada"}`)); err != nil {
			return "", err
		}
		paid, err := runner.Await[struct{ By string }](ctx, "paid")
		if err != nil {
			return "", err // it waits, if there is no signal yet
		}
		return "paid by " + paid.By, nil
	}, tool.Options{Effect: selvage.EffectIdempotent})

	agent := agentWith(store, nil, ship)
	result, err := agent.Run(ctx, "t1", runner.Text("call ship {}"))
	for err == nil && result.Waiting != nil {
		result, err = agent.Resume(ctx, result.RunID, runner.ResumeOptions{})
	}
	fmt.Println(result.Text, err)
	// Output: Done: paid by ada <nil>
}

// What a run waits for is decided in any process, without its model or tools.
func ExampleDecide() {
	ctx := context.Background()
	store := inmem.New(inmem.Options{})
	deploy := tool.Func("deploy", "Deploys.", func(context.Context, struct{}) (string, error) { return "deployed", nil },
		tool.Options{Effect: selvage.EffectOnce, OnUnknown: tool.AskUnknown, Gate: func(context.Context, *tool.Call) error {
			return tool.Suspend(selvage.Ticket{Reason: selvage.WaitApproval, Message: "May it deploy?"})
		}})
	waits, err := agentWith(store, nil, deploy).Run(ctx, "t1", runner.Text("call deploy {}"))
	fmt.Println(waits.Tickets[0].Ticket.Message, err)

	yes := selvage.Decision{ID: "ada-1", Action: selvage.DecisionResume, By: "ada"}
	for range 2 {
		decided, err := runner.Decide(ctx, store, waits.RunID, yes, "")
		fmt.Println(decided.Status, err)
	}
	done, err := agentWith(store, nil, deploy).Resume(ctx, waits.RunID, runner.ResumeOptions{})
	fmt.Println(done.Text, err)
	// Output:
	// May it deploy? <nil>
	// recorded <nil>
	// repeated <nil>
	// Done: deployed <nil>
}
