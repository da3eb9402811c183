// Package crashtest is an agent that pays bills, and the tests of it that
// docs/testing-agents.md shows: it is killed at every place, and what it did in
// production is led again.
package crashtest

import (
	"context"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// Bank is where bills are paid. Paying twice is paying twice.
type Bank interface {
	Pay(ctx context.Context, to string) error
}

// pay pays a bill. Of a payment that a crash interrupted people are asked what
// became of it.
func pay(bank Bank) tool.Tool {
	type in struct {
		To string `json:"to"`
	}
	return tool.Func("pay", "Pays a bill.", func(ctx context.Context, in in) (string, error) {
		return fmt.Sprintf("paid %s", in.To), bank.Pay(ctx, in.To)
	}, tool.Options{Effect: selvage.EffectOnce, OnUnknown: tool.AskUnknown})
}

// Agent is what the agent is made of, its store aside.
func Agent(m model.Model, bank Bank) runner.Options {
	return runner.Options{Model: m, Tools: []tool.Tool{pay(bank)}}
}
