package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"sync"

	"github.com/selvagehq/selvage/model"
)

// Options configures [Record] and [Open].
type Options struct {
	// Secrets are texts that no recording may hold, such as the keys in use. Those
	// of fewer than 8 bytes do not count. Whoever plays a recording names the same
	// ones, as far as requests may hold them.
	Secrets []string

	// InOrder plays the answers in the order of the recording, whatever is asked.
	// It is for requests that differ each time, by a date for example.
	InOrder bool
}

// Recorder writes what models answer to a file, of which it is the only one. It is
// safe for concurrent use; each attempt is one write.
type Recorder struct {
	clean *redactor

	mu   sync.Mutex
	file *os.File
	err  error // of the first write that failed; nothing is written after it
}

// Record returns a recorder that appends to the recording at path, which is made,
// readable by its owner only, if it is not there. A file that is something else
// is refused with an error that matches [selvage.ErrInvalid], and not changed.
func Record(path string, options Options) (*Recorder, error) {
	_, whole, err := read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	r := &Recorder{clean: newRedactor(options.Secrets), file: f}
	// Part of a line that a dying process left would spoil the next one.
	if err = f.Truncate(whole); err == nil {
		err = f.Chmod(0o600)
	}
	if err == nil && whole == 0 {
		err = r.line(current)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

// Close returns the error of the first attempt that could not be recorded, if
// there was one. Nothing is recorded after it.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return r.err
	}
	r.err = errors.Join(r.err, r.file.Close())
	r.file = nil
	return r.err
}

// Model returns m, recorded. It has m's name and price.
func (r *Recorder) Model(m model.Model) model.Model { return &recorded{m, r} }

// line appends v. It is called by one goroutine at a time.
func (r *Recorder) line(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = r.file.Write(append(data, '\n'))
	return err
}

// keep records an attempt.
func (r *Recorder) keep(m model.Model, req *model.Request, chunks []chunk, failed error) {
	e := entry{Model: m.Name(), Attempt: req.Attempt, Request: reduce(req, r.clean), Chunks: r.clean.chunks(chunks)}
	if p, ok := m.(model.Pricer); ok {
		if price, known := p.Price(); known {
			e.Price = &price
		}
	}
	if failed != nil {
		e.Error = failureOf(failed, r.clean)
	}
	var err error
	e.Digest, err = e.Request.digest()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil || r.file == nil {
		return
	}
	if err == nil {
		err = r.line(e)
	}
	if err != nil {
		r.err = fmt.Errorf("an answer of %s could not be recorded: %w", e.Model, err)
	}
}

// recorded is a model whose answers are recorded.
type recorded struct {
	model.Model
	by *Recorder
}

var _ model.Pricer = (*recorded)(nil)

// Price is that of the model itself.
func (m *recorded) Price() (model.Price, bool) {
	if p, ok := m.Model.(model.Pricer); ok {
		return p.Price()
	}
	return model.Price{}, false
}

// Stream records an attempt before its end is passed on, so that whatever was
// done about an answer, the answer is in the recording.
func (m *recorded) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		var chunks []chunk
		for c, err := range m.Model.Stream(ctx, req) {
			if err != nil {
				if model.ClassOf(err) != model.Cancelled {
					m.by.keep(m.Model, &req, chunks, err)
				}
				yield(c, err)
				return
			}
			chunks = append(chunks, chunk(c))
			if c.Finish != "" {
				m.by.keep(m.Model, &req, chunks, nil)
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}
