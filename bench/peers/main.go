// Command peers lets the same conversation be kept, in one run and by turns,
// by Selvage, by LangGraph.js with its own checkpointers, and by what every
// home-made store does: the whole state written anew each turn. A turn is two
// messages of 500 bytes, the user's and the assistant's; it is measured on
// threads of 10, 100, 1 000 and 10 000 messages.
//
//	(cd bench/peers/langgraph && npm ci)   once; node 20 or later
//	go run ./bench/peers                   the whole of it, some minutes
//	go run ./bench/peers -sizes 10,1000 -only sqlite
//	go run ./bench/peers -quick            a smoke test; its figures mean little
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
	"path/filepath"
	"strconv"
	"strings"

	"github.com/selvagehq/selvage/internal/pgtest"
	"github.com/selvagehq/selvage/internal/yardstick"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		stop()
		os.Exit(1)
	}
}

// config is what the command line asks for.
type config struct {
	dir    string // on the disk to measure
	peer   string // where LangGraph.js is installed
	node   string
	only   string
	sizes  []int
	rounds int
	quick  bool
	log    io.Writer
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.SetOutput(stderr)
	cfg := config{log: stderr}
	flags.StringVar(&cfg.dir, "dir", os.TempDir(), "directory on the `disk` to measure")
	flags.StringVar(&cfg.peer, "langgraph", filepath.Join("bench", "peers", "langgraph"), "`directory` where LangGraph.js is installed")
	flags.StringVar(&cfg.node, "node", "node", "the node `program`")
	flags.StringVar(&cfg.only, "only", "", "measure only what has `text` in its name")
	flags.IntVar(&cfg.rounds, "rounds", 7, "rounds, of which the median counts")
	flags.BoolVar(&cfg.quick, "quick", false, "a smoke test")
	sizes := flags.String("sizes", "10,100,1000,10000", "`messages` of the threads")
	asJSON := flags.Bool("json", false, "print JSON")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for text := range strings.SplitSeq(*sizes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 2 || n%2 != 0 {
			return fmt.Errorf("-sizes: %q is not an even number of messages", text)
		}
		cfg.sizes = append(cfg.sizes, n)
	}
	if cfg.quick {
		cfg.rounds = 1
	}
	r, err := measure(ctx, cfg)
	if err != nil {
		return err
	}
	if *asJSON {
		e := json.NewEncoder(stdout)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	return r.markdown(stdout)
}

// measure runs every size, each on files and databases of its own.
func measure(ctx context.Context, cfg config) (_ *report, err error) {
	r := &report{Rounds: cfg.rounds, Quick: cfg.quick, Machine: strings.Join([]string{yardstick.Machine(cfg.dir),
		yardstick.Driver("modernc.org/sqlite"), yardstick.Driver("github.com/jackc/pgx/v5")}, " · ")}
	if r.Left = cfg.missing(); r.Left == "" {
		if r.Peer, err = versions(cfg); err != nil {
			return nil, err
		}
	}
	cluster, err := pgtest.Start(pgtest.Options{Durable: true, Settings: []string{"checkpoint_timeout = 1h"}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	for _, n := range cfg.sizes {
		rows, err := race(ctx, cfg, cluster, n, r.Left == "")
		if err != nil {
			return nil, fmt.Errorf("%d messages: %w", n, err)
		}
		r.Rows = append(r.Rows, rows...)
	}
	r.judge()
	return r, nil
}
