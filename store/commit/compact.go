package commit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// Compacter is what a store has to know for [Compact]. Each method sees the
// threads of the store's tenant.
type Compacter interface {
	selvage.Store
	// ThreadsAfter returns ids of threads that exist, in some order that does
	// not change, after the one given. None follow an empty answer.
	ThreadsAfter(ctx context.Context, after selvage.ThreadID) ([]selvage.ThreadID, error)
	// Survey tells what there is of a thread, for a horizon that target finds.
	// Target is called once, with the changes that made the state at the head,
	// the newest first. A thread that does not exist matches
	// [selvage.ErrNotFound].
	Survey(ctx context.Context, id selvage.ThreadID, target func(Footprints) (selvage.Version, error)) (*Survey, error)
	// Reduce carries out a step in one transaction. It reports false, with
	// nothing written, if the thread is no longer the one that was surveyed, or
	// its horizon is not where the step begins.
	Reduce(ctx context.Context, s *Step) (bool, error)
}

// Footprint is what a compaction needs to know of one change of the log that
// patches or replaces the state.
type Footprint struct {
	Version selvage.Version
	At      time.Time
	Size    int // of what would go, about, in bytes
}

// Footprints yields one footprint after the other, until it reports false.
type Footprints func() (Footprint, bool, error)

// Survey is what there is of a thread that can be compacted.
type Survey struct {
	ThreadID selvage.ThreadID
	Born     selvage.Version // the first version of the thread's life
	Horizon  selvage.Version // as it is
	Target   selvage.Version // as it shall be; 0 or not above Horizon if nothing is to be done
	Anchors  []Anchor        // of the rewinds above Horizon
	// Changes are all those of the log that patch or replace the state, hidden
	// ones too, above Horizon and up to Target, in order.
	Changes []Footprint
}

// Anchor is where the state of a rewind comes from. What is made of it later
// leads back there, so the document is kept there if the horizon passes it.
type Anchor struct {
	At, To selvage.Version // of the rewind
	State  selvage.Version // of the last change of the state as of To, compacted or not; 0 if there is none
}

// Step is one transaction of a compaction: it moves the horizon of a thread.
type Step struct {
	ThreadID selvage.ThreadID
	Born     selvage.Version
	From, To selvage.Version // horizons
	// Versions are the changes to write anew by [Step.Take], in order.
	Versions []selvage.Version

	docs    map[selvage.Version]state.Document // to be kept with changes
	Changes int64                              // how many were reduced
	Bytes   int64                              // by how much
}

// Take reduces a change of the step. A transaction that is tried again takes
// its changes again, after [Step.Again].
func (s *Step) Take(c *selvage.Change) error {
	before := c.StateSize()
	if c.HasState() && !c.StateGone() {
		s.Changes++
	}
	if err := c.CompactState(); err != nil {
		return err
	}
	if doc, kept := s.docs[c.Version]; kept {
		c.Base = doc.AppendJSON(nil)
	}
	s.Bytes += int64(before) - int64(c.StateSize())
	return nil
}

// Again forgets what was counted.
func (s *Step) Again() { s.Changes, s.Bytes = 0, 0 }

// The bounds of one step.
const (
	maxStepChanges = 256
	maxStepBytes   = 1 << 20 // of what goes
)

// steps divides the way of the horizon into stretches of bounded size, or makes
// one of all.
func (s *Survey) steps(bounded bool) []*Step {
	if s.Target <= s.Horizon || len(s.Changes) == 0 {
		return nil
	}
	way := slices.Clone(s.Changes)
	if s.Horizon > 0 { // a document is kept there
		way = append(way, Footprint{Version: s.Horizon})
	}
	slices.SortFunc(way, func(a, b Footprint) int { return cmp.Compare(a.Version, b.Version) })
	var steps []*Step
	next, size := &Step{ThreadID: s.ThreadID, Born: s.Born, From: s.Horizon}, 0
	for i, f := range way {
		next.Versions = append(next.Versions, f.Version)
		size += f.Size
		full := bounded && len(next.Versions) >= maxStepChanges || bounded && size >= maxStepBytes
		if i+1 < len(way) && (!full || f.Version == s.Horizon) {
			continue
		}
		next.To = f.Version
		steps = append(steps, next)
		// The document at the horizon goes with the next step.
		next, size = &Step{ThreadID: s.ThreadID, Born: s.Born, From: next.To, Versions: []selvage.Version{next.To}}, 0
	}
	return steps
}

// anchored returns the versions below a horizon whose documents are to be kept,
// each with a version above it at which the state is the same.
func anchored(anchors []Anchor, horizon selvage.Version) map[selvage.Version]selvage.Version {
	at := make(map[selvage.Version]selvage.Version)
	for _, a := range anchors {
		if a.At > horizon && a.State > 0 && a.State < horizon {
			at[a.State] = a.At
		}
	}
	return at
}

// keepDocs works out which documents the step is to keep, and reads them. It
// reports false if the thread is no longer the one that was surveyed.
func (c *compaction) keepDocs(ctx context.Context, survey *Survey, s *Step) (bool, error) {
	after := anchored(survey.Anchors, s.To)
	after[s.To] = s.To
	s.docs = make(map[selvage.Version]state.Document, len(after))
	for v, same := range after {
		doc, err := c.store.State(ctx, s.ThreadID, same)
		if errors.Is(err, selvage.ErrGone) || errors.Is(err, selvage.ErrNotFound) {
			return false, nil // somebody else was here
		}
		if err != nil {
			return false, err
		}
		s.docs[v] = doc
	}
	// A document that was kept for a rewind goes when that is passed, too.
	for v := range anchored(survey.Anchors, s.From) {
		if _, kept := after[v]; !kept && !slices.Contains(s.Versions, v) {
			s.Versions = append(s.Versions, v)
		}
	}
	for v := range after {
		if v < s.From {
			delete(s.docs, v) // is there
		}
	}
	slices.Sort(s.Versions)
	return true, nil
}

// Compact compacts the threads of a store as [selvage.Compactor] promises.
func Compact(ctx context.Context, store Compacter, req selvage.CompactRequest, now time.Time) (selvage.CompactReport, error) {
	c := &compaction{store: store, req: req, keep: selvage.DefaultRetention(), now: now}
	if req.Retention != nil {
		c.keep = *req.Retention
	}
	if err := c.keep.Check(); err != nil {
		return c.report, err
	}
	if req.Thread != "" {
		if err := CheckThreadID(req.Thread); err != nil {
			return c.report, err
		}
		return c.report, c.thread(ctx, req.Thread)
	}
	for after := selvage.ThreadID(""); ; {
		ids, err := store.ThreadsAfter(ctx, after)
		if err != nil || len(ids) == 0 {
			return c.report, err
		}
		for _, id := range ids {
			// One that was deleted meanwhile has nothing left to compact.
			if err := c.thread(ctx, id); err != nil && !errors.Is(err, selvage.ErrNotFound) {
				return c.report, fmt.Errorf("compact thread %q: %w", id, err)
			}
		}
		after = ids[len(ids)-1]
	}
}

// compaction is one call of Compact.
type compaction struct {
	store  Compacter
	req    selvage.CompactRequest
	keep   selvage.Retention
	now    time.Time
	report selvage.CompactReport
}

// target returns the horizon that retention asks for, or 0 if it asks for none.
func (c *compaction) target(next Footprints) (selvage.Version, error) {
	old := c.now.Add(-c.keep.Age)
	for n := 0; ; n++ {
		f, ok, err := next()
		if err != nil || !ok {
			return 0, err
		}
		if n >= c.keep.Checkpoints && !f.At.After(old) {
			return f.Version, nil
		}
	}
}

func (c *compaction) thread(ctx context.Context, id selvage.ThreadID) error {
	survey, err := c.store.Survey(ctx, id, c.target)
	if err != nil {
		return err
	}
	c.report.Threads++
	moved := false
	for _, step := range survey.steps(!c.req.DryRun) {
		if err := c.step(ctx, survey, step, &moved); err != nil {
			return err
		}
	}
	if !moved && c.req.Progress != nil {
		c.req.Progress(c.report)
	}
	return nil
}

// step archives and reduces one stretch of a thread.
func (c *compaction) step(ctx context.Context, survey *Survey, s *Step, moved *bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if there, err := c.keepDocs(ctx, survey, s); err != nil || !there {
		return err
	}
	done := true
	var err error
	if c.req.DryRun {
		err = c.each(ctx, s, s.Take)
	} else {
		if c.req.Archive != nil {
			err = c.each(ctx, s, c.archive)
		}
		if err == nil {
			done, err = c.store.Reduce(ctx, s)
		}
	}
	if err != nil || !done {
		return err
	}
	if !*moved {
		*moved = true
		c.report.Moved++
	}
	c.report.Changes += s.Changes
	c.report.Bytes += s.Bytes
	if c.req.Progress != nil {
		c.req.Progress(c.report)
	}
	return nil
}

// archive hands a change that is about to be reduced to the caller.
func (c *compaction) archive(change *selvage.Change) error {
	if !change.HasState() || change.StateGone() {
		return nil
	}
	if err := c.req.Archive(change); err != nil {
		return fmt.Errorf("archive version %d: %w", change.Version, err)
	}
	return nil
}

// each reads the changes of a step.
func (c *compaction) each(ctx context.Context, s *Step, do func(*selvage.Change) error) error {
	limit := 1
	for _, v := range s.Versions {
		page, err := c.store.Changes(ctx, s.ThreadID, selvage.ChangeQuery{After: v - 1, Before: v + 1, Limit: &limit})
		if err != nil {
			return err
		}
		for i := range page.Items {
			if err := do(&page.Items[i]); err != nil {
				return err
			}
		}
	}
	return nil
}
