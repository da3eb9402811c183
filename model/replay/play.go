package replay

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"reflect"
	"strings"
	"sync"

	"github.com/selvagehq/selvage/model"
)

// Scheme begins the names of models that are recordings.
const Scheme = "replay:"

// Model answers from a recording. It is safe for concurrent use; requests at the
// same time that are the same get their answers in any order.
type Model struct {
	path    string
	clean   *redactor
	inOrder bool
	entries []*entry
	same    map[string][]*entry // by digest

	mu     sync.Mutex
	times  map[asking]int // how often each was asked
	played map[*entry]bool
	next   int // in order
}

// asking is a request and the attempt at it.
type asking struct {
	digest  string
	attempt int
}

var (
	_ model.Model  = (*Model)(nil)
	_ model.Pricer = (*Model)(nil)
)

// Open reads the recording at path. What cannot be played is refused with an
// error that matches [selvage.ErrInvalid].
func Open(path string, options Options) (*Model, error) {
	path, err := filepath.Abs(strings.TrimPrefix(path, Scheme))
	if err != nil {
		return nil, err
	}
	m := &Model{path: path, clean: newRedactor(options.Secrets), inOrder: options.InOrder,
		same: map[string][]*entry{}, times: map[asking]int{}, played: map[*entry]bool{}}
	if m.entries, _, err = read(path); err != nil {
		return nil, err
	}
	if len(m.entries) == 0 {
		return nil, invalid("%s holds no answer", path)
	}
	for _, e := range m.entries {
		// What was edited by hand is found by what it says now.
		digest, err := e.Request.digest()
		if err != nil {
			return nil, invalid("%s: %v", path, err)
		}
		e.Digest = digest
		m.same[digest] = append(m.same[digest], e)
	}
	return m, nil
}

// Name returns "replay:" and the absolute path of the recording, so that a run
// can be gone on with from any directory.
func (m *Model) Name() string { return Scheme + m.path }

// Price is that of the model that was recorded. It is not known if there were
// several at different prices, or if it was not known then.
func (m *Model) Price() (model.Price, bool) {
	first := m.entries[0].Price
	for _, e := range m.entries {
		if e.Price == nil || !reflect.DeepEqual(e.Price, first) {
			return model.Price{}, false
		}
	}
	return *first, true
}

// Stream plays the answer to req. A request that was not recorded fails for good,
// with an error that tells how it differs.
func (m *Model) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		e, err := m.find(&req)
		if err != nil {
			yield(model.Chunk{}, &model.Error{Class: model.Permanent, Err: err})
			return
		}
		for _, c := range e.Chunks {
			if ctx.Err() != nil {
				yield(model.Chunk{}, model.Ended(ctx))
				return
			}
			if !yield(model.Chunk(c), nil) {
				return
			}
		}
		switch {
		case ctx.Err() != nil && !e.finished():
			yield(model.Chunk{}, model.Ended(ctx))
		case e.Error != nil:
			yield(model.Chunk{}, e.Error.err())
		}
	}
}

// finished reports whether the answer was complete.
func (e *entry) finished() bool {
	return len(e.Chunks) > 0 && e.Chunks[len(e.Chunks)-1].Finish != ""
}

// find returns the entry that answers req.
func (m *Model) find(req *model.Request) (*entry, error) {
	now := reduce(req, m.clean)
	digest, err := now.digest()
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.inOrder {
		return m.following()
	}
	found := m.same[digest]
	if len(found) == 0 {
		return nil, m.stranger(&now)
	}
	// An attempt that failed and the one after it ask the same.
	var attempts []*entry
	for _, e := range found {
		if e.Attempt == req.Attempt {
			attempts = append(attempts, e)
		}
	}
	if len(attempts) == 0 {
		attempts = found[len(found)-1:]
	}
	key := asking{digest, req.Attempt}
	e := attempts[min(m.times[key], len(attempts)-1)]
	m.times[key]++
	m.played[e] = true
	return e, nil
}

// following returns the next entry of the recording.
func (m *Model) following() (*entry, error) {
	if m.next == len(m.entries) {
		return nil, fmt.Errorf("the recording %s has no more than %d answers", m.path, m.next)
	}
	m.next++
	return m.entries[m.next-1], nil
}

// stranger is the error of a request that was not recorded.
func (m *Model) stranger(now *asked) error {
	for i, e := range m.entries {
		if !m.played[e] {
			return fmt.Errorf("the recording %s has no answer to this; answer %d, the next in order, was to another request: %s",
				m.path, i+1, difference(&e.Request, now))
		}
	}
	return fmt.Errorf("the recording %s has no answer to this; its %d answers were all given, the last to another request: %s",
		m.path, len(m.entries), difference(&m.entries[len(m.entries)-1].Request, now))
}
