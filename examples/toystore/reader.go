package toystore

import (
	"slices"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/commit"
)

// reader is what a judgement may look up. A real store answers in the
// transaction that will write the plan; here the lock is held.
type reader struct {
	store  *Store
	thread *thread
}

var _ commit.Reader = reader{}

func (r reader) State() (state.Document, error) { return r.thread.doc(len(r.thread.life())), nil }

func (r reader) At(v selvage.Version) (commit.Past, error) {
	i, err := r.thread.at(v)
	if err != nil {
		return commit.Past{}, err
	}
	return commit.Past{State: r.thread.doc(i + 1), NextSeq: r.thread.life()[i].Change.LastSeq() + 1}, nil
}

func (r reader) KnownMessages(ids []string) ([]bool, error) {
	known := make([]bool, len(ids))
	for _, m := range r.thread.messages(r.thread.head.Visible(1)) {
		if i := slices.Index(ids, m.ID); i >= 0 {
			known[i] = true
		}
	}
	return known, nil
}

func (r reader) Run(id selvage.RunID) (*selvage.Run, error) {
	for _, run := range r.store.runs() {
		if run.item.ID == id {
			return &run.item, nil
		}
	}
	return nil, nil
}

func (r reader) Call(id string) (*selvage.Call, error) {
	for _, e := range slices.Backward(r.thread.life()) {
		if i := slices.IndexFunc(e.Calls, func(c selvage.Call) bool { return c.ID == id }); i >= 0 {
			return &e.Calls[i], nil
		}
	}
	return nil, nil
}

func (r reader) Parent(id selvage.ThreadID) (selvage.ThreadID, bool, error) {
	h := r.store.thread(id).head
	return h.Thread.ParentID, h.Exists(), nil
}

// Blobs and Delivery are about capabilities that this store does not have.

func (r reader) Blobs(ids []selvage.Hash) ([]bool, error) { return make([]bool, len(ids)), nil }

func (r reader) Delivery([]byte) ([]byte, error) { return nil, nil }
