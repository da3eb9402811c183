package inmem

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/commit"
)

// compactor implements [selvage.Compactor].
type compactor struct{ *Store }

var _ commit.Compacter = compactor{}

// Compact implements [selvage.Compactor].
func (c compactor) Compact(ctx context.Context, req selvage.CompactRequest) (selvage.CompactReport, error) {
	report, err := commit.Compact(ctx, c, req, c.now())
	if err != nil {
		err = fmt.Errorf("compact: %w", err)
	}
	return report, err
}

// ThreadsAfter implements [commit.Compacter]. All ids come at once.
func (c compactor) ThreadsAfter(ctx context.Context, after selvage.ThreadID) ([]selvage.ThreadID, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	var ids []selvage.ThreadID
	for id, t := range c.threads {
		if id > after && t.head.Exists() {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// Survey implements [commit.Compacter].
func (c compactor) Survey(ctx context.Context, id selvage.ThreadID, target func(commit.Footprints) (selvage.Version, error)) (*commit.Survey, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	t, err := c.find(id)
	if err != nil {
		return nil, err
	}
	s := &commit.Survey{ThreadID: id, Born: t.tombstone + 1, Horizon: t.head.Horizon}
	v := t.head.Thread.Version + 1
	s.Target, err = target(func() (f commit.Footprint, ok bool, err error) {
		if v = t.lastState(t.before(v)); v > 0 {
			f, ok = t.footprint(v)
		}
		return f, ok, nil
	})
	for _, r := range t.head.Rewinds {
		if r.At > s.Horizon {
			s.Anchors = append(s.Anchors, commit.Anchor{At: r.At, To: r.To, State: t.lastState(r.To)})
		}
	}
	for v := max(s.Horizon+1, s.Born); v <= s.Target; v++ {
		if f, ok := t.footprint(v); ok {
			s.Changes = append(s.Changes, f)
		}
	}
	return s, err
}

// before is the version that version v follows, 0 if it is the first one of a
// life. That after the head follows the head.
func (t *thread) before(v selvage.Version) selvage.Version {
	for _, r := range t.head.Rewinds {
		if r.At == v {
			return r.To
		}
	}
	if v--; v > t.tombstone {
		return v
	}
	return 0
}

// lastState is the version of the last change of the state as of v, or 0.
func (t *thread) lastState(v selvage.Version) selvage.Version {
	for v > 0 && !t.log[v-t.log[0].Version].HasState() {
		v = t.before(v)
	}
	return v
}

// footprint reports whether the change of a version is one of the state.
func (t *thread) footprint(v selvage.Version) (commit.Footprint, bool) {
	c := &t.log[v-t.log[0].Version]
	return commit.Footprint{Version: v, At: c.At, Size: c.StateSize()}, c.HasState()
}

// Reduce implements [commit.Compacter].
func (c compactor) Reduce(ctx context.Context, s *commit.Step) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.enter(ctx); err != nil {
		return false, err
	}
	t, err := c.find(s.ThreadID)
	if errors.Is(err, selvage.ErrNotFound) {
		return false, nil
	}
	if err != nil || t.tombstone+1 != s.Born || t.head.Horizon != s.From {
		return false, err
	}
	reduced := make([]selvage.Change, len(s.Versions))
	for i, v := range s.Versions {
		reduced[i] = cloneChange(&t.log[v-t.log[0].Version])
		if err := s.Take(&reduced[i]); err != nil {
			return false, err
		}
	}
	for i := range reduced {
		t.log[reduced[i].Version-t.log[0].Version] = reduced[i]
	}
	for v := max(s.From, s.Born); v < s.To; v++ {
		t.docs[v-t.log[0].Version] = state.Document{}
	}
	t.head.Horizon = s.To
	return true, nil
}
