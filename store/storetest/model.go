package storetest

import (
	"slices"

	"github.com/selvagehq/selvage"
)

// The model is a store so simple that it can be seen to be right: lists, maps
// and loops, with nothing of a real store in it but the vocabulary. It keeps
// state as plain Go values and folds it anew for every version.

// model is what the threads of a store should be.
type model struct {
	threads map[selvage.ThreadID]*modelThread
	order   []selvage.ThreadID // by creation
	runs    []*modelRun        // by creation
	leases  map[selvage.ThreadID]*modelLease
}

// modelLease is what is known of a thread's lease.
type modelLease struct {
	epoch int64          // of the last holder; unknown after a delete
	held  *selvage.Lease // nil if released
}

// modelThread is one thread, from its last creation on.
type modelThread struct {
	version   selvage.Version // of the last change, tombstones included
	deleted   bool
	tombstone selvage.Version // of the former life
	nextSeq   int64
	parent    selvage.ThreadID
	title     string
	user      string
	sets      []modelSet
	messages  []modelMessage // that can be seen
	past      map[selvage.Version]modelPast
}

// modelPast is what a thread was at a version.
type modelPast struct {
	doc      map[string]any
	messages []modelMessage
}

// modelSet is a change set that was accepted.
type modelSet struct {
	version selvage.Version
	set     selvage.ChangeSet
	receipt selvage.Receipt
}

type modelMessage struct {
	seq      int64
	id       string // "" if the store gave one
	text     string
	internal bool
	run      selvage.RunID
	version  selvage.Version
}

type modelRun struct {
	id     selvage.RunID
	thread selvage.ThreadID
	status selvage.RunStatus
}

func newModel() *model {
	return &model{threads: make(map[selvage.ThreadID]*modelThread), leases: make(map[selvage.ThreadID]*modelLease)}
}

const unknownEpoch = -1

// lease returns what is known of a thread's lease, to read or to change.
func (m *model) lease(id selvage.ThreadID) *modelLease {
	l := m.leases[id]
	if l == nil {
		l = &modelLease{}
		m.leases[id] = l
	}
	return l
}

func (m *model) exists(id selvage.ThreadID) bool {
	t := m.threads[id]
	return t != nil && !t.deleted
}

// openRun returns the run of a thread that is not done, or nil.
func (m *model) openRun(id selvage.ThreadID) *modelRun {
	for _, r := range m.runs {
		if r.thread == id && r.status != selvage.RunDone {
			return r
		}
	}
	return nil
}

func (m *model) run(id selvage.RunID) *modelRun {
	for _, r := range m.runs {
		if r.id == id {
			return r
		}
	}
	return nil
}

// expect predicts what becomes of a set: the class of its error, or nil.
func (m *model) expect(id selvage.ThreadID, set *selvage.ChangeSet, ops []modelOp, pre selvage.Precondition) error {
	t := m.threads[id]
	if t != nil {
		for _, s := range t.sets {
			if s.set.ID == set.ID {
				return nil // a replay: the generator never changes the content
			}
		}
	}
	if t != nil && t.deleted && !pre.IsRecreate() {
		return m.admits(id, pre)
	}
	if set.Fence != nil && set.Fence.Epoch != m.lease(id).epoch {
		return selvage.ErrFenced
	}
	if err := m.admits(id, pre); err != nil {
		return err
	}
	for _, u := range set.Runs {
		if !m.allowsRun(id, u) {
			return selvage.ErrInvalid
		}
	}
	if !m.exists(id) {
		t = &modelThread{}
	}
	if set.Rewind != nil {
		if err := m.allowsRewind(id, *set.Rewind); err != nil {
			return err
		}
	}
	if _, ok := t.fold(t.version, ops...); !ok {
		return selvage.ErrInvalid
	}
	if set.Thread != nil && set.Thread.ParentID != nil {
		for at := *set.Thread.ParentID; at != ""; at = m.threads[at].parent {
			if at == id || !m.exists(at) {
				return selvage.ErrInvalid
			}
		}
	}
	return nil
}

// admits judges the precondition alone.
func (m *model) admits(id selvage.ThreadID, pre selvage.Precondition) error {
	t := m.threads[id]
	v, exact := pre.Version()
	switch {
	case t != nil && t.deleted && pre.IsNew(), m.exists(id) && (pre.IsNew() || pre.IsRecreate()):
		return selvage.ErrAlreadyExists
	case t != nil && t.deleted && !pre.IsRecreate():
		return selvage.ErrGone
	case t == nil && !pre.IsNew():
		return selvage.ErrNotFound
	case m.exists(id) && exact && v != t.version:
		return selvage.ErrConflict
	}
	return nil
}

func (m *model) allowsRewind(id selvage.ThreadID, to selvage.Version) error {
	switch t := m.threads[id]; {
	case to < 1 || !m.exists(id) || m.openRun(id) != nil:
		return selvage.ErrInvalid
	case to > t.version:
		return selvage.ErrNotFound
	case to <= t.tombstone:
		return selvage.ErrGone
	}
	return nil
}

func (m *model) allowsRun(id selvage.ThreadID, u selvage.RunUpdate) bool {
	r := m.run(u.ID)
	if r == nil {
		return u.Status != selvage.RunDone && u.Status != selvage.RunWaiting && m.openRun(id) == nil
	}
	if r.thread != id {
		return false
	}
	switch r.status {
	case selvage.RunCreated:
		return u.Status != selvage.RunWaiting
	case selvage.RunDone:
		return false
	default:
		return u.Status != selvage.RunCreated
	}
}

// accept takes in a set that the store has accepted.
func (m *model) accept(id selvage.ThreadID, set selvage.ChangeSet, ops []modelOp, r selvage.Receipt) {
	t := m.threads[id]
	switch {
	case t == nil:
		t = &modelThread{nextSeq: 1}
		m.threads[id] = t
		m.order = append(m.order, id)
	case t.deleted:
		*t = modelThread{version: t.version, tombstone: t.version, nextSeq: t.nextSeq}
		m.order = append(slices.DeleteFunc(m.order, func(o selvage.ThreadID) bool { return o == id }), id)
	}
	doc, _ := t.fold(t.version, ops...)
	if set.Rewind != nil {
		doc, _ = t.fold(*set.Rewind)
		t.messages = slices.Clone(t.past[*set.Rewind].messages)
	}
	t.version++
	for _, msg := range set.Messages {
		known := func(other modelMessage) bool { return msg.ID != "" && other.id == msg.ID }
		if slices.ContainsFunc(t.messages, known) {
			continue
		}
		run := msg.RunID
		if run == "" {
			run = set.RunID
		}
		t.messages = append(t.messages, modelMessage{t.nextSeq, msg.ID, msg.Text(), msg.Internal(), run, t.version})
		t.nextSeq++
	}
	for _, u := range set.Runs {
		run := m.run(u.ID)
		if run == nil {
			run = &modelRun{id: u.ID, thread: id}
			m.runs = append(m.runs, run)
		}
		run.status = u.Status
	}
	if u := set.Thread; u != nil {
		set := func(field *string, to *string) {
			if to != nil {
				*field = *to
			}
		}
		set(&t.title, u.Title)
		set(&t.user, u.UserID)
		set((*string)(&t.parent), (*string)(u.ParentID))
	}
	t.sets = append(t.sets, modelSet{t.version, set, r})
	t.note(doc)
}

// note remembers what the thread is at its version.
func (t *modelThread) note(doc map[string]any) {
	if t.past == nil {
		t.past = make(map[selvage.Version]modelPast)
	}
	t.past[t.version] = modelPast{doc, slices.Clone(t.messages)}
}

// children are the threads below one.
func (m *model) children(id selvage.ThreadID) []selvage.ThreadID {
	var below []selvage.ThreadID
	for _, child := range m.order {
		if m.exists(child) && m.threads[child].parent == id {
			below = append(below, child)
		}
	}
	return below
}

// delete does what a delete does, or tells why not.
func (m *model) delete(id selvage.ThreadID, strategy selvage.DeleteStrategy) error {
	if !m.exists(id) {
		return selvage.ErrNotFound
	}
	below := m.children(id)
	switch {
	case strategy == selvage.DeleteReject && len(below) > 0:
		return selvage.ErrInvalid
	case strategy == selvage.DeleteDetach:
		for _, child := range below {
			m.threads[child].parent = ""
			c := m.threads[child]
			doc, _ := c.fold(c.version)
			c.version++
			c.note(doc)
		}
	case strategy == selvage.DeleteCascade:
		for _, child := range below {
			if err := m.delete(child, strategy); err != nil {
				return err
			}
		}
	}
	t := m.threads[id]
	*t = modelThread{version: t.version + 1, deleted: true, nextSeq: t.nextSeq}
	m.runs = slices.DeleteFunc(m.runs, func(r *modelRun) bool { return r.thread == id })
	*m.lease(id) = modelLease{epoch: unknownEpoch}
	return nil
}
