// Command selvage keeps the threads of AI agents. See package cli, which is the
// same command for programs with tools of their own.
//
// With OTEL_EXPORTER_OTLP_ENDPOINT set (or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) it
// sends the spans of package telemetry there, by OTLP over HTTP; the other
// OTEL_* variables mean what OpenTelemetry says.
package main

import (
	"os"

	"github.com/selvagehq/selvage/cli"
)

var version string // set by the linker

func main() { os.Exit(run()) }

func run() int {
	observers, flush := traces(os.Getenv, os.Stderr)
	defer flush()
	return cli.Main(cli.Options{Version: version, Observers: observers})
}
