// Command selvage keeps the threads of AI agents. See package cli, which is the
// same command for programs with tools of their own.
package main

import (
	"os"

	"github.com/selvagehq/selvage/cli"
)

var version string // set by the linker

func main() { os.Exit(cli.Main(cli.Options{Version: version})) }
