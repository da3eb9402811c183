package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/yardstick"
)

// benchPlan is how long to measure, and with how many writers.
type benchPlan struct {
	total   time.Duration
	writers int
}

// Each kind of measurement takes as many parts, and the sides of it take
// turns part by part.
const benchParts = 10

// kinds are the measurements: a flush, one writer and many beside the raw
// limit, a load.
const benchKinds = 6

// part is how long one side is measured at a stretch.
func (p benchPlan) part() time.Duration { return p.total / (benchKinds * benchParts) }

func (p benchPlan) parts() int { return benchKinds * benchParts }

// benchRun is one measurement under way.
type benchRun struct {
	plan     benchPlan
	space    *benchSpace
	doc      *benchDocument
	progress *progress
	body     []byte
	writers  []*benchWriter
}

// benchWriter appends to a thread that nobody else writes to.
type benchWriter struct {
	id      selvage.ThreadID
	version selvage.Version
	sets    int64
}

// all measures everything.
func (r *benchRun) all(ctx context.Context) (err error) {
	if r.body, err = yardstick.Body(benchBody); err != nil {
		return err
	}
	for i := range r.plan.writers {
		r.writers = append(r.writers, &benchWriter{id: selvage.ThreadID(benchThread(i))})
	}
	for _, step := range []func(context.Context) error{r.flushes, r.single, r.many, r.loads, r.sizes} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *benchRun) flushes(ctx context.Context) error {
	if r.space.dir == "" {
		return nil
	}
	var s yardstick.Sample
	for range benchParts {
		if err := s.Flush(ctx, r.space.dir, r.plan.part()); err != nil {
			return err
		}
		r.progress.add(1)
	}
	f := figure(&s)
	r.doc.Flush = &f
	return nil
}

// rawSide is the engine doing its best for one part.
type rawSide struct {
	name string
	run  func(ctx context.Context, s *yardstick.Sample) error
}

// single is one writer, beside one-row INSERTs.
func (r *benchRun) single(ctx context.Context) error {
	return r.beside(ctx, r.writers[:1], r.inserts(1))
}

// many are all writers at once, beside the best the engine can do with as
// many rows.
func (r *benchRun) many(ctx context.Context) error {
	if len(r.writers) == 1 {
		return nil // it has been measured
	}
	raw := r.inserts(len(r.writers))
	if group := r.space.group; group != nil {
		raw = &rawSide{fmt.Sprintf("INSERTs, %d a transaction", groupRows), func(ctx context.Context, s *yardstick.Sample) error {
			for begin := time.Now(); time.Since(begin) < r.plan.part(); {
				if err := errors.Join(ctx.Err(), s.Batch(groupRows, func() error { return group(ctx, r.body) })); err != nil {
					return err
				}
			}
			return nil
		}}
	}
	return r.beside(ctx, r.writers, raw)
}

// inserts are one-row INSERTs by so many writers; nil if there is no engine.
func (r *benchRun) inserts(writers int) *rawSide {
	put := r.space.put
	if put == nil {
		return nil
	}
	ops := make([]func(context.Context) error, writers)
	for i := range ops {
		ops[i] = func(ctx context.Context) error { return put(ctx, i, r.body) }
	}
	return &rawSide{"one-row INSERT", func(ctx context.Context, s *yardstick.Sample) error { return s.During(ctx, r.plan.part(), ops) }}
}

// beside lets the writers append, and the engine do its least, by turns.
func (r *benchRun) beside(ctx context.Context, writers []*benchWriter, raw *rawSide) error {
	appends := make([]func(context.Context) error, len(writers))
	for i, w := range writers {
		appends[i] = func(ctx context.Context) error { return w.append(ctx, r.space.store) }
	}
	var store, engine yardstick.Sample
	for range benchParts {
		if err := store.During(ctx, r.plan.part(), appends); err != nil {
			return err
		}
		r.progress.add(1)
		if raw == nil {
			continue
		}
		if err := raw.run(ctx, &engine); err != nil {
			return err
		}
		r.progress.add(1)
	}
	pair := benchPair{Writers: len(writers), Store: figure(&store)}
	if raw != nil {
		f := figure(&engine)
		pair.Raw, pair.RawLimit, pair.Share = &f, raw.name, rounded(store.Rate()/engine.Rate(), 1000)
	}
	r.doc.Appends = append(r.doc.Appends, pair)
	return nil
}

func (w *benchWriter) append(ctx context.Context, store selvage.Store) error {
	receipt, err := store.Append(ctx, w.id, yardstick.ChangeSet(benchBody), selvage.Exact(w.version))
	if err == nil {
		w.version = receipt.Version
		w.sets++
	}
	return err
}

// loads loads the thread of the one writer as a run does.
func (r *benchRun) loads(ctx context.Context) error {
	var s yardstick.Sample
	load := func(ctx context.Context) error {
		head, err := r.space.store.Load(ctx, r.writers[0].id, selvage.LoadOptions{})
		r.doc.LoadedLast = len(head.Messages)
		return err
	}
	for range benchParts {
		if err := s.During(ctx, r.plan.part(), []func(context.Context) error{load}); err != nil {
			return err
		}
		r.progress.add(1)
	}
	r.doc.Load = figure(&s)
	return nil
}

// sizes compares what is kept to what was appended.
func (r *benchRun) sizes(ctx context.Context) error {
	if r.space.stored == nil {
		return nil
	}
	stored, err := r.space.stored(ctx)
	if err != nil {
		return err
	}
	var sets int64
	for _, w := range r.writers {
		sets += w.sets
	}
	payload := sets * benchBody
	r.doc.Stored = &benchStored{Payload: payload, Bytes: stored, Ratio: rounded(float64(stored)/float64(payload), 1000)}
	return nil
}
