package cli_test

import (
	"context"
	"fmt"
	"os"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/cli"
	"github.com/selvagehq/selvage/tool"
)

// A program with a tool of its own is every command with that tool.
func ExampleMain() {
	type order struct {
		ID int `json:"id"`
	}
	track := tool.Func("track", "Says where an order is.", func(_ context.Context, o order) (string, error) {
		return fmt.Sprintf("order %d is at the depot", o.ID), nil
	}, tool.Options{Effect: selvage.EffectNone})

	code := cli.Main(cli.Options{
		Tools: []tool.Tool{track},
		// A program leaves these out: they are its own arguments and environment.
		Args:   []string{"ask", "--tool", "track", "--model", "sim/echo", `call track {"id": 42}`},
		Env:    []string{},
		Stdout: os.Stdout,
	})
	fmt.Println("exit", code)
	// Output:
	// Done: order 42 is at the depot
	// exit 0
}
