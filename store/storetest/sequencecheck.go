package storetest

import (
	"fmt"

	"github.com/selvagehq/selvage"
)

// compare reads everything of a thread.
func (s *sequence) compare(id selvage.ThreadID) {
	if !s.model.exists(id) {
		s.unreadable(id, selvage.ErrNotFound)
		return
	}
	t := s.model.threads[id]
	h := s.load(id)
	if h.Thread.Version != t.version || h.NextSeq != t.nextSeq || h.Thread.Title != t.title || h.Thread.UserID != t.user || h.Thread.ParentID != t.parent {
		s.Errorf("step %d: %s is %s; want version %d, next seq %d, title %q, user %q, parent %q",
			s.step, id, encode(s, h.Thread), t.version, t.nextSeq, t.title, t.user, t.parent)
	}
	open := selvage.RunID("")
	if r := s.model.openRun(id); r != nil {
		open = r.id
	}
	if h.Thread.OpenRunID != open {
		s.Errorf("step %d: the open run of %s is %q; want %q", s.step, id, h.Thread.OpenRunID, open)
	}
	if held := s.model.lease(id).held; (h.Lease != nil) != (held != nil) || held != nil && h.Lease.Epoch != held.Epoch {
		s.Errorf("step %d: the lease of %s is %s; want %s", s.step, id, encode(s, h.Lease), encode(s, held))
	}
	s.compareStates(id, t)
	s.compareMessages(id, t, h)
	log := s.log(id)
	s.verify(log)
	if first := max(t.tombstone, 1); len(log) == 0 || log[0].Version != first || log[len(log)-1].Version != t.version {
		s.Errorf("step %d: the log of %s holds the versions %v; want %d to %d", s.step, id, versions(log), first, t.version)
	}
}

func (s *sequence) compareStates(id selvage.ThreadID, t *modelThread) {
	versions := []selvage.Version{t.version}
	if lived := int(t.version - t.tombstone); lived > 0 {
		versions = append(versions, t.tombstone+1+selvage.Version(s.random.IntN(lived)))
	}
	for _, v := range versions {
		doc, _ := t.fold(v)
		if got := s.state(id, v); got != describe(doc) {
			s.Errorf("step %d: state of %s at version %d of %d is %s; want %s", s.step, id, v, t.version, got, describe(doc))
		}
	}
	if t.tombstone > 0 {
		_, err := s.store.State(s.Context(), id, t.tombstone)
		s.class("state at the tombstone", err, selvage.ErrGone)
	}
}

func (s *sequence) compareMessages(id selvage.ThreadID, t *modelThread, h selvage.Head) {
	s.equal(fmt.Sprintf("step %d: seqs of %s in a load", s.step, id), seqs(h.Messages), t.messagesOf(selvage.MessageQuery{Visibility: selvage.ShowAll}))
	q := selvage.MessageQuery{
		Visibility: oneOf(s, selvage.ShowAll, selvage.ShowAll, selvage.ShowExternal, selvage.ShowInternal),
		Order:      oneOf(s, selvage.Ascending, selvage.Descending),
		Limit:      ptr(1 + s.random.IntN(7)),
	}
	if s.chance(30) {
		q.RunID = selvage.RunID(s.name("run", 5))
	}
	if s.chance(30) {
		q.After = s.random.Int64N(t.nextSeq)
	}
	if s.chance(30) {
		q.Before = s.random.Int64N(t.nextSeq) + 1
	}
	if lived := int(t.version - t.tombstone); s.chance(40) && lived > 0 {
		q.At = t.tombstone + 1 + selvage.Version(s.random.IntN(lived))
	}
	got := walk(s.kit, s.messagePages(id, q))
	s.equal(fmt.Sprintf("step %d: seqs of %s for %s", s.step, id, encode(s, q)), seqs(got), t.messagesOf(q))
	for _, m := range got {
		for _, want := range t.seen(q.At) {
			if want.seq == m.Seq && (m.Text() != want.text || m.Internal() != want.internal || m.RunID != want.run || want.id != "" && m.ID != want.id) {
				s.Errorf("step %d: message %d of %s is %s; want %+v", s.step, m.Seq, id, encode(s, m), want)
			}
		}
	}
}

func (s *sequence) compareLists() {
	q := selvage.ThreadQuery{Limit: ptr(1 + s.random.IntN(3)), Parent: oneOf(s, selvage.AnyParent(), selvage.Roots(), selvage.ChildrenOf(s.thread()))}
	if s.chance(30) {
		q.UserID = s.name("user", 3)
	}
	s.equal(fmt.Sprintf("step %d: threads", s.step), threadIDs(s.threads(q)), s.model.threadsOf(q))
	runs := selvage.RunQuery{Open: s.chance(30)}
	if s.chance(50) {
		runs.ThreadID = s.thread()
	}
	if s.chance(30) {
		runs.Status = oneOf(s, selvage.RunRunning, selvage.RunDone)
	}
	s.equal(fmt.Sprintf("step %d: runs for %s", s.step, encode(s, runs)), runIDs(s.runs(runs)), s.model.runsOf(runs))
}
