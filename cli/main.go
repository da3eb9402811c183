// Package cli is the selvage command as a library, so that a program with
// tools of its own is a selvage with those tools:
//
//	func main() { os.Exit(cli.Main(cli.Options{Tools: []tool.Tool{lookup}})) }
//
// Every command, flag, exit code and JSON field is the same. The fields are
// listed in docs/cli-json.md; they are only ever added to.
//
// Data goes to stdout and everything else to stderr. Nothing here reads the
// environment of the process, its arguments or its streams except as defaults
// of [Options], and nothing is kept between two calls of [Main].
package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// Options is what a program gives its commands. The zero value is the plain
// selvage of this process.
type Options struct {
	// Name is what the program calls itself in messages and hints. Empty is
	// "selvage".
	Name string

	// Tools are offered to models besides the built-in ones, by --tool NAME.
	// One of a built-in's name takes its place.
	Tools []tool.Tool

	// Observers are told what the runs that commands lead do.
	Observers []runner.Observer

	// Version and Commit are printed by the version command. Empty means what
	// the Go build recorded.
	Version, Commit string

	Args   []string  // without the program's name; nil is those of the process
	Env    []string  // "NAME=value"; nil is that of the process
	Dir    string    // the working directory; empty is that of the process
	Stdin  io.Reader // nil is that of the process; so for the next two
	Stdout io.Writer
	Stderr io.Writer
}

// Main runs one command and returns its exit code: 0 done, 1 failed, 2 wrong
// usage, 3 not found, 4 conflict, 5 unreachable, 6 waiting for a decision,
// 7 corrupt, 8 unauthorised, 9 outcome unknown, 124 a wait timed out, 130
// interrupted. While it runs, an interrupt or SIGTERM to the process ends the
// command cleanly, a second one at once, and a closed stdout is an error
// rather than the end of the process.
//
// When stdin is read, one goroutine may be left blocked on it after Main
// returned; it ends with the stream.
func Main(opts Options) int {
	a, err := newApp(opts)
	if err != nil {
		return a.fail(context.Background(), "", err)
	}
	ctx, stop := interruptible(context.Background())
	defer stop()
	root := a.rootCommand()
	root.SetArgs(a.args)
	command, err := root.ExecuteContextC(ctx)
	a.closeServers()
	a.writeMetrics()
	if ended := a.endRecording(); err == nil {
		err = ended
	}
	if err == nil {
		err = a.out.err
	}
	if err == nil {
		a.tellHeld()
		return exitOK
	}
	what := strings.TrimSpace(strings.TrimPrefix(command.CommandPath(), root.Name()))
	return a.fail(ctx, what, err)
}

// sameInterrupt is how long further signals are taken for the first one:
// timeout(1) and supervisors send theirs to a process and then to its group.
const sameInterrupt = 200 * time.Millisecond

// interruptible returns a context that the first interrupt ends. The second
// one ends the process the usual way.
func interruptible(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	// Being told of a closed pipe keeps the process alive, so that a turn
	// under way is recorded to its end.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	watched, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-signals:
			cancel()
			select {
			case <-time.After(sameInterrupt):
			case <-over:
			}
			signal.Stop(signals)
		case <-over:
		}
	}()
	return ctx, func() {
		cancel()
		close(over)
		<-watched
		signal.Stop(signals)
		signal.Stop(pipes)
	}
}
