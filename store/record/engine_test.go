package record_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/record"
)

// toy is the smallest engine: it copies everything for every update. Its clock
// stands still but for the tests that move it.
type toy struct {
	mu   sync.Mutex // guards the rest
	now  time.Time
	rows map[string]record.Row // by space and key
	// after is called when an update has been committed; its error is the
	// answer.
	after func() error
	runs  int // of update functions
}

func newToy() *toy {
	return &toy{now: time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC), rows: make(map[string]record.Row)}
}

func (e *toy) View(ctx context.Context, read func(record.Tx) error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return read(&toyTx{e.rows, e.now})
}

func (e *toy) Update(ctx context.Context, _ string, write func(record.Tx) error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e.runs++
	tx := &toyTx{maps.Clone(e.rows), e.now}
	if err := write(tx); err != nil {
		return err
	}
	e.rows = tx.rows
	if e.after != nil {
		return e.after()
	}
	return nil
}

// loseAnswers has the next n commits not answered.
func (e *toy) loseAnswers(n int) {
	e.after = func() error {
		if n--; n < 0 {
			return nil
		}
		return fmt.Errorf("the answer is lost: %w", selvage.ErrUnknownOutcome)
	}
}

// spoil changes the values of a space.
func (e *toy) spoil(space string, change func(key string, row record.Row) []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for name, row := range e.rows {
		if key, ok := bytes.CutPrefix([]byte(name), []byte(space+"\n")); ok {
			if row.Value = change(string(key), row); row.Value == nil {
				delete(e.rows, name)
				continue
			}
			e.rows[name] = row
		}
	}
}

type toyTx struct {
	rows map[string]record.Row
	now  time.Time
}

func (t *toyTx) Now() time.Time { return t.now }

func (t *toyTx) lives(row record.Row) bool { return row.Expires.IsZero() || row.Expires.After(t.now) }

func (t *toyTx) Get(space string, key []byte) ([]byte, error) {
	row := t.rows[space+"\n"+string(key)]
	if !t.lives(row) {
		return nil, nil
	}
	return row.Value, nil
}

func (t *toyTx) Scan(space string, in record.Range) (out []record.Row, err error) {
	for name, row := range t.rows {
		if key, ok := bytes.CutPrefix([]byte(name), []byte(space+"\n")); ok && t.lives(row) &&
			bytes.Compare(key, in.From) >= 0 && (in.To == nil || bytes.Compare(key, in.To) < 0) {
			out = append(out, row)
		}
	}
	slices.SortFunc(out, func(a, b record.Row) int { return bytes.Compare(a.Key, b.Key) })
	if in.Reverse {
		slices.Reverse(out)
	}
	if in.Limit > 0 {
		out = out[:min(in.Limit, len(out))]
	}
	return out, nil
}

func (t *toyTx) Put(space string, row record.Row) error {
	if len(row.Value) == 0 || len(row.Key) > record.MaxKeyBytes || len(row.Value) > record.MaxValueBytes || row.Key[0] == 0xff {
		return fmt.Errorf("a row of %s with a key of %d and a value of %d bytes", space, len(row.Key), len(row.Value))
	}
	t.rows[space+"\n"+string(row.Key)] = row
	return nil
}

func (t *toyTx) Insert(space string, row record.Row) (bool, error) {
	if have, _ := t.Get(space, row.Key); have != nil {
		return false, nil
	}
	return true, t.Put(space, row)
}

func (t *toyTx) Delete(space string, in record.Range) (int, error) {
	in.Reverse = false
	rows, _ := t.Scan(space, in)
	for _, row := range rows {
		delete(t.rows, space+"\n"+string(row.Key))
	}
	return len(rows), nil
}

func (t *toyTx) Sweep(limit int) (n int, err error) {
	for name, row := range t.rows {
		if n < limit && !t.lives(row) {
			delete(t.rows, name)
			n++
		}
	}
	return n, nil
}

// offer is a capability over the engine.
func offer[C any](t testing.TB, e *toy) (c C) {
	t.Helper()
	if !record.New(e, new(selvage.CursorKey), "").Capability(&c) {
		t.Fatalf("the keeper offers no %T", c)
	}
	return c
}
