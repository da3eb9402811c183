package cli_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/cli"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

type lookupIn struct {
	Order string `json:"order"`
}

// weaver is a program with a tool of its own and every command.
func weaver() {
	lookup := tool.Func("lookup", "Looks an order up.", func(_ context.Context, in lookupIn) (string, error) {
		return "order " + in.Order + " is woven", nil
	}, tool.Options{Effect: selvage.EffectNone})
	os.Exit(cli.Main(cli.Options{Name: "weaver", Version: "7", Tools: []tool.Tool{lookup, ship("ship", tool.AskUnknown), ship("send", tool.FailUnknown), pay()}}))
}

type shipIn struct {
	Order string `json:"order"`
}

// ship writes a line, once, and then takes until its file "go" is there: time
// enough to be killed in the middle of it.
func ship(name string, unknown selvage.OnUnknown) tool.Tool {
	return tool.Func(name, "Ships an order.", func(ctx context.Context, in shipIn) (string, error) {
		f, err := os.OpenFile("shipped.txt", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		_, err = f.WriteString(in.Order + "\n")
		if err = errors.Join(err, f.Close()); err != nil {
			return "", err
		}
		for {
			if _, err := os.Stat("go"); err == nil {
				return "order " + in.Order + " is on its way", nil
			}
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-time.After(time.Millisecond): // nothing tells that a file is there
			}
		}
	}, tool.Options{Effect: selvage.EffectOnce, OnUnknown: unknown})
}

type paid struct {
	Amount int `json:"amount"`
}

// pay waits until somebody tells that it was paid.
func pay() tool.Tool {
	return tool.Func("pay", "Waits for a payment.", func(ctx context.Context, _ struct{}) (string, error) {
		p, err := runner.Await[paid](ctx, "paid")
		return fmt.Sprintf("paid %d", p.Amount), err
	}, tool.Options{Effect: selvage.EffectIdempotent})
}
