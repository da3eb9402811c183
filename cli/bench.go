package cli

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage/internal/settings"
	"github.com/selvagehq/selvage/internal/yardstick"
)

// How long and with how many writers a store is measured.
const (
	benchDuration = 10 * time.Second
	benchShortest = 100 * time.Millisecond
	benchLongest  = time.Hour
	benchWriters  = 16
	benchMost     = 1024
	benchBody     = 1 << 10 // bytes of JSON of a change set
)

// benchDocument is what was measured, in JSON.
type benchDocument struct {
	Store      string            `json:"store"`   // without a password
	Backend    string            `json:"backend"` // memory, sqlite, postgres
	Durability string            `json:"durability"`
	Settings   map[string]string `json:"settings"` // of the engine, by its own names
	Machine    string            `json:"machine"`
	BodyBytes  int               `json:"body_bytes"`
	Flush      *benchFigure      `json:"flush,omitempty"` // forcing a page to the store's disk, if that is here
	Appends    []benchPair       `json:"appends"`
	Load       benchFigure       `json:"load"`
	LoadedLast int               `json:"loaded_messages"` // how many messages a load answers
	Stored     *benchStored      `json:"stored,omitempty"`
}

// benchFigure is how often something was done, and how fast.
type benchFigure struct {
	Ops  int     `json:"ops"`
	Rate float64 `json:"per_second"`
	P50  float64 `json:"p50_us,omitempty"` // absent where many were done in one
	P99  float64 `json:"p99_us,omitempty"`
}

// benchPair is the store beside its raw limit.
type benchPair struct {
	Writers  int          `json:"writers"`
	Store    benchFigure  `json:"store"`
	Raw      *benchFigure `json:"raw,omitempty"`
	RawLimit string       `json:"raw_limit,omitempty"` // what that is
	Share    float64      `json:"share,omitempty"`     // of the raw rate
}

// benchStored is what the change sets take.
type benchStored struct {
	Payload int64   `json:"payload_bytes"` // of the JSON that was appended
	Bytes   int64   `json:"stored_bytes"`  // everything the store made of it
	Ratio   float64 `json:"ratio"`
}

func (a *app) benchCommand() *cobra.Command {
	length, writers := duration(), number()
	cmd := &cobra.Command{
		Use: "bench", Short: "Measure the store beside the raw limit of its engine", Args: noArguments,
		Long: `Measure the store beside the raw limit of its engine and its disk, by turns, so
that a busy machine slows both: appends of 1 KiB beside one-row INSERTs of the
same body, one writer and many; loads; and the bytes that are kept.

Nothing of yours is touched. A SQLite store is measured in a temporary folder
beside its file, a server in a temporary database, which the user must be
allowed to create; both are named selvage-bench or selvage_bench and a random
number, and are removed at the end, after Ctrl-C too.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p := benchPlan{total: benchDuration, writers: benchWriters}
			if length.text != "" {
				p.total = durationOf(length.text)
			}
			if writers.text != "" {
				p.writers, _ = settings.ParseNumber(writers.text) // it was checked when it was set
			}
			if p.total < benchShortest || p.total > benchLongest {
				return usage("for example --duration 30s", "--duration: a measurement takes from %s to %s, not %s", benchShortest, benchLongest, p.total)
			}
			if p.writers < 1 || p.writers > benchMost {
				return usage("for example --writers 16", "--writers: there are from 1 to %d writers, not %d", benchMost, p.writers)
			}
			doc, err := a.bench(cmd.Context(), p)
			if err != nil {
				return err
			}
			return a.show(doc, func() { a.printBench(doc) })
		},
	}
	cmd.Flags().VarP(length, "duration", "d", "how long to measure in all: `TIME`, 10s if it is not given")
	cmd.Flags().VarP(writers, "writers", "w", "how many writers append at once: `N`, 16 if it is not given")
	return cmd
}

// bench measures in a space of its own, and leaves nothing behind.
func (a *app) bench(ctx context.Context, p benchPlan) (_ *benchDocument, err error) {
	url, err := a.storeURL()
	if err != nil {
		return nil, err
	}
	space, err := a.benchSpace(ctx, url, p.writers)
	if err != nil {
		return nil, err
	}
	defer func() { err = space.leave(ctx, err) }()
	doc := &benchDocument{Store: settings.Redact(url), Backend: space.backend, Durability: space.durability, Settings: space.settings,
		Machine: yardstick.Machine(space.dir), BodyBytes: benchBody}
	run := &benchRun{plan: p, space: space, doc: doc, progress: a.progress("measured", "parts", int64(p.parts()))}
	defer run.progress.end()
	return doc, run.all(ctx)
}

// figure sums a sample up.
func figure(s *yardstick.Sample) benchFigure {
	micros := func(d time.Duration) float64 { return rounded(float64(d)/1e3, 10) }
	return benchFigure{Ops: s.Ops(), Rate: rounded(s.Rate(), 10), P50: micros(s.Quantile(0.5)), P99: micros(s.Quantile(0.99))}
}

// rounded leaves out what a measurement does not tell.
func rounded(v, parts float64) float64 { return math.Round(v*parts) / parts }

func (a *app) printBench(d *benchDocument) {
	var set []string
	for _, name := range slices.Sorted(maps.Keys(d.Settings)) {
		set = append(set, name+"="+d.Settings[name])
	}
	a.fields([][2]string{{"store", d.Store}, {"durability", d.Durability}, {"engine", strings.Join(set, ", ")}, {"machine", d.Machine}})
	a.out.line("")
	rows := [][]string{}
	add := func(what string, writers int, f *benchFigure, share float64) {
		row := []string{what, strconv.Itoa(writers), fmt.Sprintf("%.0f", f.Rate), micros(f.P50), micros(f.P99), ""}
		if share > 0 {
			row[5] = fmt.Sprintf("%.0f%%", 100*share)
		}
		rows = append(rows, row)
	}
	if d.Flush != nil {
		add("force a page to the disk", 1, d.Flush, 0)
	}
	for i := range d.Appends {
		pair := &d.Appends[i]
		if pair.Raw != nil {
			add(pair.RawLimit, pair.Writers, pair.Raw, 0)
		}
		add("append", pair.Writers, &pair.Store, pair.Share)
	}
	add(fmt.Sprintf("load, the last %d messages", d.LoadedLast), 1, &d.Load, 0)
	a.table([]string{"WHAT", "WRITERS", "A SECOND", "P50", "P99", "OF THE RAW RATE"}, rows)
	if s := d.Stored; s != nil {
		a.out.line("")
		a.fields([][2]string{{"stored", fmt.Sprintf("%s for %s of JSON, %.2f times", bytesOf(s.Bytes), bytesOf(s.Payload), s.Ratio)}})
	}
}

// micros writes a time that was measured; none is "".
func micros(us float64) string {
	switch {
	case us <= 0:
		return ""
	case us < 10_000:
		return fmt.Sprintf("%.0f µs", us)
	default:
		return fmt.Sprintf("%.1f ms", us/1e3)
	}
}
