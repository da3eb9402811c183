package cli_test

import (
	"context"
	"os"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/cli"
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
	os.Exit(cli.Main(cli.Options{Name: "weaver", Version: "7", Tools: []tool.Tool{lookup}}))
}
