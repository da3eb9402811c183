package inmem

import (
	"context"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/commit"
)

// Append implements [selvage.Store]. It never answers
// [selvage.ErrUnknownOutcome] or [selvage.ErrUnavailable].
func (s *Store) Append(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
	receipt, err := s.append(ctx, id, set, pre)
	if err != nil {
		return selvage.Receipt{}, fmt.Errorf("append to thread %q: %w", id, err)
	}
	return receipt, nil
}

func (s *Store) append(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
	request, err := commit.NewRequest(id, set, pre)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return selvage.Receipt{}, err
	}
	if err != nil {
		return selvage.Receipt{}, err
	}
	if t := s.threads[id]; t != nil {
		if i, known := t.changes[request.Set.ID]; known {
			first := cloneChange(&t.log[i])
			return request.Replay(&first)
		}
	}
	w, err := s.judge(request)
	if err != nil {
		return selvage.Receipt{}, err
	}
	s.write(w)
	return w.plan.Receipt, nil
}

// write is one change, worked out and ready to be taken in.
type write struct {
	plan     *commit.Plan
	messages []selvage.Message
}

// judge works out what the request writes and writes nothing.
func (s *Store) judge(request *commit.Request) (*write, error) {
	h := s.head(request.ThreadID)
	plan, err := request.Judge(h, reader{s, s.threads[request.ThreadID]}, s.now())
	if err != nil {
		return nil, err
	}
	return prepare(plan)
}

// prepare detaches a plan from the values its caller may go on using, and
// brings them to the form that a store which keeps bytes would read back.
func prepare(plan *commit.Plan) (*write, error) {
	plan.Change = cloneChange(&plan.Change)
	w := &write{plan: plan}
	var err error
	if w.messages, err = plan.Change.AddedMessages(); err != nil {
		return nil, err
	}
	if plan.Next.Thread, err = reread(plan.Next.Thread); err != nil {
		return nil, err
	}
	for i := range plan.Runs {
		if plan.Runs[i], err = reread(plan.Runs[i]); err != nil {
			return nil, err
		}
		if open := plan.Next.OpenRun; open != nil && open.ID == plan.Runs[i].ID {
			plan.Next.OpenRun = &plan.Runs[i]
		}
	}
	for i := range plan.Calls {
		if plan.Calls[i], err = reread(plan.Calls[i]); err != nil {
			return nil, err
		}
		for j := range plan.Next.OpenCalls {
			if plan.Next.OpenCalls[j].ID == plan.Calls[i].ID {
				plan.Next.OpenCalls[j] = plan.Calls[i]
			}
		}
	}
	return w, nil
}

// write takes a change in. It cannot fail.
func (s *Store) write(w *write) {
	plan, now := w.plan, s.tick()
	t := s.threads[plan.Change.ThreadID]
	if t == nil {
		t = &thread{}
		s.threads[plan.Change.ThreadID] = t
	}
	if t.head.Deleted {
		t.tombstone = t.head.Thread.Version
	}
	if !t.head.Exists() {
		t.created = now
	}
	doc := t.doc()
	if plan.State != nil {
		doc = *plan.State
	}
	before := t.head
	t.head, t.updated = plan.Next, now
	t.keep(plan.Change, doc)
	s.announce(&plan.Change, now)
	if plan.Rewind != 0 {
		t.turn(plan, before)
	}
	for i := range w.messages {
		t.ids[w.messages[i].ID] = struct{}{}
	}
	t.messages = append(t.messages, w.messages...)
	for _, c := range plan.Calls {
		t.calls[c.ID] = c
	}
	for _, r := range plan.Runs {
		row := s.runs[r.ID]
		if row == nil {
			row = &runRow{created: s.tick()}
			s.runs[r.ID] = row
		}
		row.run = r
	}
	s.enqueue(plan, t)
}

// keep adds a change to the log.
func (t *thread) keep(c selvage.Change, doc state.Document) {
	if t.changes == nil {
		t.changes = make(map[string]int)
		t.ids = make(map[string]struct{})
		t.calls = make(map[string]selvage.Call)
	}
	t.changes[c.ID] = len(t.log)
	t.log = append(t.log, c)
	t.docs = append(t.docs, doc)
}

// doc is the state document at the head.
func (t *thread) doc() state.Document {
	if len(t.docs) == 0 {
		return state.Document{}
	}
	return t.docs[len(t.docs)-1]
}

// reader is what a judgement may look up about a thread, which may be nil.
type reader struct {
	store  *Store
	thread *thread
}

func (r reader) State() (state.Document, error) { return r.thread.doc(), nil }

func (r reader) At(v selvage.Version) (commit.Past, error) {
	i, err := r.thread.at(v)
	if err != nil {
		return commit.Past{}, err
	}
	return commit.Past{State: r.thread.docs[i], NextSeq: r.thread.log[i].LastSeq() + 1}, nil
}

func (r reader) KnownMessages(ids []string) ([]bool, error) {
	known := make([]bool, len(ids))
	for i, id := range ids {
		_, known[i] = r.thread.ids[id]
	}
	return known, nil
}

func (r reader) Run(id selvage.RunID) (*selvage.Run, error) {
	row := r.store.runs[id]
	if row == nil {
		return nil, nil
	}
	return &row.run, nil
}

func (r reader) Call(id string) (*selvage.Call, error) {
	c, known := r.thread.calls[id]
	if !known {
		return nil, nil
	}
	return &c, nil
}

func (r reader) Blobs(ids []selvage.Hash) ([]bool, error) {
	known := make([]bool, len(ids))
	for i, id := range ids {
		known[i] = r.store.blobs[id] != nil
	}
	return known, nil
}

func (r reader) Delivery(key []byte) ([]byte, error) {
	if d := r.store.outbox[selvage.OutboxKeyID(key)]; d != nil {
		return d.Digest, nil
	}
	return nil, nil
}

func (r reader) Parent(id selvage.ThreadID) (selvage.ThreadID, bool, error) {
	h := r.store.head(id)
	return h.Thread.ParentID, h.Exists(), nil
}
