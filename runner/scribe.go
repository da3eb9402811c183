package runner

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/selvagehq/selvage"
)

// When a stream checkpoint is written: what has come is kept after this time,
// or at once when it is so much.
const (
	scribeEvery = time.Second
	scribeBytes = 4 << 10
)

// scribe writes stream checkpoints of an answer while it arrives. One write is
// under way at a time; nobody waits for it but stop. A nil scribe writes
// nothing.
type scribe struct {
	streams selvage.StreamCheckpoints
	draft   func() selvage.StreamCheckpoint
	log     *slog.Logger
	ctx     context.Context // of the writes
	cancel  context.CancelFunc
	writes  sync.WaitGroup

	mu     sync.Mutex
	fresh  int         // bytes that are in no checkpoint; guarded by mu
	timer  *time.Timer // until they are to be; nil if it does not run; guarded by mu
	busy   bool        // a write is under way; guarded by mu
	closed bool        // no more writes; guarded by mu
	wrote  bool        // one was tried; guarded by mu
}

// newScribe returns a scribe that its caller stops.
func (x *run) newScribe(ctx context.Context, draft func() selvage.StreamCheckpoint) *scribe {
	if x.streams == nil {
		return nil
	}
	s := &scribe{streams: x.streams, draft: draft, log: x.log}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return s
}

// note takes account of text that has come, now to be found in a draft.
func (s *scribe) note(bytes int) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh += bytes
	s.look()
}

// now writes a checkpoint unless one is being written, or no more are to be.
func (s *scribe) now() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh = max(s.fresh, scribeBytes)
	s.look()
}

// look begins what is due. The caller holds mu.
func (s *scribe) look() {
	switch {
	case s.closed || s.busy || s.fresh == 0:
	case s.fresh >= scribeBytes:
		s.begin()
	case s.timer == nil:
		s.timer = time.AfterFunc(scribeEvery, s.due)
	}
}

// due is what the timer calls.
func (s *scribe) due() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer = nil; !s.closed && !s.busy && s.fresh > 0 {
		s.begin()
	}
}

// begin begins a write. The caller holds mu.
func (s *scribe) begin() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	s.busy, s.wrote, s.fresh = true, true, 0
	s.writes.Go(s.write)
}

func (s *scribe) write() {
	ctx, cancel := context.WithTimeout(s.ctx, partialTimeout)
	defer cancel()
	err := s.streams.Put(ctx, s.draft())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy = false; err != nil && !s.closed {
		s.log.WarnContext(ctx, "interrupted answer not kept", "err", err)
		// What will not become better is not tried with each answer's every part.
		s.closed = !errors.Is(err, selvage.ErrUnavailable) && !errors.Is(err, selvage.ErrUnknownOutcome) && !errors.Is(err, context.DeadlineExceeded)
	}
	s.look()
}

// stop ends the writing: a write under way is given up and waited for. It
// reports whether a checkpoint may have been written.
func (s *scribe) stop() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	wrote := s.wrote
	s.mu.Unlock()
	s.cancel()
	s.writes.Wait()
	return wrote
}
