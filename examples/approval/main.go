// Approval is an agent that may pay small bills by itself and large ones when
// somebody says so. Three processes have a part in it, one after the other, and
// share nothing but the store: the one that is asked to pay, the one in which
// somebody decides, and the one that goes on with the run.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model/sim"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/stores"
	"github.com/selvagehq/selvage/tool"
)

func main() {
	dir, err := os.MkdirTemp("", "approval")
	check(err)
	defer os.RemoveAll(dir)
	db := filepath.Join(dir, "app.db")
	run := request(db)
	decide(db, run)
	finish(db, run)
}

// bill is what the tool is called with.
type bill struct {
	To    string `json:"to"`
	Cents int64  `json:"cents"`
}

// pay pays a bill. Above ten dollars its gate has somebody asked before; of one
// that a crash interrupted people are asked what became of it.
func pay() tool.Tool {
	return tool.New("pay", "Pays a bill.", func(_ context.Context, c *tool.Call, b bill) (string, error) {
		fmt.Printf("       the bank pays %d to %s\n", b.Cents, b.To) // hand it c.IdempotencyKey, too
		return fmt.Sprintf("paid %d to %s", b.Cents, b.To), nil
	}, tool.Options{Effect: selvage.EffectOnce, OnUnknown: tool.AskUnknown,
		Gate: func(_ context.Context, c *tool.Call) error {
			var b bill
			if err := json.Unmarshal(c.Arguments, &b); err != nil || b.Cents <= 1000 {
				return err
			}
			return tool.Suspend(selvage.Ticket{Reason: selvage.WaitApproval, Details: c.Arguments,
				Message: fmt.Sprintf("pay %d to %s?", b.Cents, b.To)})
		}})
}

// agent makes the agent, as every process that leads it does.
func agent(store selvage.Store) *runner.Runner {
	model, err := sim.New("echo") // offline; openai.New(...) talks to a real one
	check(err)
	r, err := runner.New(runner.Options{Store: store, Model: model, Tools: []tool.Tool{pay()}})
	check(err)
	return r
}

// request is the first process. Its run begins to wait, and it ends.
func request(db string) selvage.RunID {
	ctx := context.Background()
	store, err := stores.Open(ctx, db)
	check(err)
	defer store.Close()
	result, err := agent(store).Run(ctx, "bills", runner.Text(`call pay {"to":"landlord","cents":90000}`))
	check(err)
	fmt.Printf("first  the run waits for %s: %s\n", result.Waiting.Reason, result.Waiting.Message)
	return result.RunID
}

// decide is the second process. It has neither the model nor the tools.
func decide(db string, run selvage.RunID) {
	ctx := context.Background()
	store, err := stores.Open(ctx, db)
	check(err)
	defer store.Close()
	questions, err := runner.Questions(ctx, store, run)
	check(err)
	for _, by := range []string{"ada", "bob"} {
		decided, err := runner.Decide(ctx, store, run,
			selvage.Decision{Action: selvage.DecisionResume, By: by}, questions[0].Ticket.ID)
		check(err)
		fmt.Printf("second %s approves: %s, by %s\n", by, decided.Status, decided.Decision.By)
	}
}

// finish is the third process, which goes on with the same run.
func finish(db string, run selvage.RunID) {
	ctx := context.Background()
	store, err := stores.Open(ctx, db)
	check(err)
	defer store.Close()
	result, err := agent(store).Resume(ctx, run, runner.ResumeOptions{})
	check(err)
	fmt.Printf("third  %s: %s\n", result.Outcome.Kind, result.Text)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
