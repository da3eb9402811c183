// Mutate plants mistakes in the module, one at a time, and runs the tests that
// have to notice. It shows that the tests prove what they say: a mistake that
// no test notices, a survivor, fails it.
//
//	go run ./internal/mutate            # all of them, some minutes
//	go run ./internal/mutate -run epoch # those whose name matches
//	go run ./internal/mutate -list
//
// Nothing is written to the module: the compiler is given the files with a
// mistake in the place of the true ones. What a mistake replaces must be found
// exactly once, so a mistake that the code has moved away from is told, and
// does not pass for one that was caught.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"text/tabwriter"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run returns the exit code: 0 if every mistake was caught, 1 if one was not, 2
// if the mistakes could not be tried.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	flags.SetOutput(errs)
	root := flags.String("root", ".", "the folder of the module")
	pattern := flags.String("run", "", "only the mutants whose name matches this regular expression")
	list := flags.Bool("list", false, "list the mutants and try none")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	matches, err := regexp.Compile(*pattern)
	if err != nil {
		fmt.Fprintln(errs, "mutate: -run:", err)
		return 2
	}
	var chosen []mutant
	for _, m := range mutants() {
		if matches.MatchString(m.name) {
			chosen = append(chosen, m)
		}
	}
	if *list {
		for _, m := range chosen {
			fmt.Fprintf(out, "%-40s %s %s\n", m.name, m.pkg, m.tests)
		}
		return 0
	}
	return try(ctx, *root, chosen, out, errs)
}

// try plants the mutants one after the other and prints what became of them.
func try(ctx context.Context, root string, chosen []mutant, out, errs io.Writer) int {
	if err := sound(ctx, root, chosen); err != nil {
		fmt.Fprintln(errs, "mutate:", err)
		return 2
	}
	code := 0
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "mutant\ttests\tverdict\ttime")
	for _, m := range chosen {
		began := time.Now()
		verdict, err := m.try(ctx, root)
		fmt.Fprintf(errs, "%s: %s\n", m.name, verdict)
		fmt.Fprintf(table, "%s\t%s %s\t%s\t%.1fs\n", m.name, m.pkg, m.tests, verdict, time.Since(began).Seconds())
		switch {
		case err != nil:
			fmt.Fprintf(errs, "mutate: %s: %v\n", m.name, err)
			code = 2
		case verdict == survived && code == 0:
			code = 1
		}
	}
	if err := table.Flush(); err != nil {
		return 2
	}
	return code
}
