// Command bench measures the stores beside the engines they stand on: what a
// store does, and a plain one-row INSERT of the same body through the same
// driver, take turns in one run, so that a slow disk or a busy machine slows
// both. It prints one line a gate, with the ratio that counts and the absolute
// figures of both sides.
//
//	go run ./bench                 the whole of it, some minutes
//	go run ./bench -quick          a smoke test, some seconds; its ratios mean little
//	go run ./bench -json           for programs
//	go run ./bench -only load      the gates whose name contains "load"
//	go run ./bench -only postgres  those of PostgreSQL
//
// PostgreSQL is the server that SELVAGE_TEST_POSTGRES names, or one that is
// started for the run in the directory for temporary files.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/pprof"
	"strings"

	"github.com/selvagehq/selvage/internal/yardstick"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

// config is what the command line asks for.
type config struct {
	dir    string // on the disk to measure
	memory string // on a file system in memory; empty: there is none
	rounds int
	quick  bool
	only   string
	self   []string // how to run this program again

	postgres *server
	log      io.Writer
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	cfg := config{log: stderr, postgres: &server{}}
	flags.StringVar(&cfg.dir, "dir", os.TempDir(), "directory on the `disk` to measure")
	flags.StringVar(&cfg.memory, "memory", "/dev/shm", "directory in memory; what it should show is left out if it does not exist")
	flags.IntVar(&cfg.rounds, "rounds", 7, "rounds, of which the median counts")
	flags.BoolVar(&cfg.quick, "quick", false, "a smoke test")
	flags.StringVar(&cfg.only, "only", "", "measure only gates whose name contains `text`")
	asJSON := flags.Bool("json", false, "print JSON")
	profile := flags.String("cpuprofile", "", "write a CPU profile to `file`")
	appends := flags.Int("child-appends", 0, "internal: append so many change sets to the database named by the next flag")
	file := flags.String("child-file", "", "internal")
	durability := flags.String("child-durability", "durable", "internal")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *file != "" {
		return appendAll(ctx, *file, *durability, *appends)
	}
	if cfg.quick {
		cfg.rounds = 1
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cfg.self = []string{exe}
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	report, err := measure(ctx, cfg)
	if err := errors.Join(err, cfg.postgres.stop()); err != nil {
		return err
	}
	if *asJSON {
		e := json.NewEncoder(stdout)
		e.SetIndent("", "  ")
		return e.Encode(report)
	}
	return report.markdown(stdout)
}

// measure runs every measurement that was asked for.
func measure(ctx context.Context, cfg config) (*report, error) {
	r := &report{Machine: machine(cfg.dir), Rounds: cfg.rounds, Quick: cfg.quick}
	for _, m := range []struct {
		name string // of its gates, for -only
		run  func(context.Context, config) ([]gate, error)
	}{
		{"disk, 1 writer", diskSingle},
		{"memory, 1 writer", memorySingle},
		{"disk, 64 threads", diskGroup},
		{"bytes", sizes},
		{"turn flat", flatTurns},
		{"load flat", flatLoads},
		{"loop", loops},
		{"flushes", flushes},
		{"PostgreSQL, 1 connection", postgresSingle},
		{"PostgreSQL, 16 connections", postgresMany},
		{"PostgreSQL, bytes", postgresSizes},
		{"PostgreSQL, turn flat", postgresTurns},
		{"PostgreSQL, load flat", postgresLoads},
	} {
		if !strings.Contains(strings.ToLower(m.name), strings.ToLower(cfg.only)) {
			continue
		}
		fmt.Fprintf(cfg.log, "bench: %s\n", m.name)
		gates, err := m.run(ctx, cfg)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		r.Gates = append(r.Gates, gates...)
	}
	return r, nil
}

// machine tells what the figures are taken on, and through which drivers.
func machine(dir string) string {
	return strings.Join([]string{yardstick.Machine(dir), yardstick.Driver("modernc.org/sqlite"), yardstick.Driver("github.com/jackc/pgx/v5")}, " · ")
}
