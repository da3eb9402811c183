package commit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// Fork is a request for a fork that has been checked as far as it can be
// without the threads.
type Fork struct {
	Request selvage.ForkRequest // with its id filled in
}

// Origin is what a fork is made of.
type Origin struct {
	Thread   selvage.Thread // the head
	Version  selvage.Version
	Hash     selvage.Hash // of the change that made the version
	State    state.Document
	Messages []selvage.Message // that can be seen at the version, in order
}

// Copy is one version of a fork.
type Copy struct {
	Set  selvage.ChangeSet
	Plan *Plan
}

// NewFork checks a request. The error matches [selvage.ErrInvalid].
func NewFork(req selvage.ForkRequest) (*Fork, error) {
	if req.ID == "" {
		req.ID = selvage.NewID()
	} else if err := checkID("change set", req.ID); err != nil {
		return nil, err
	}
	if err := checkID("thread", string(req.From)); err != nil {
		return nil, err
	}
	if err := checkID("thread", string(req.To)); err != nil {
		return nil, err
	}
	if req.At < 0 {
		return nil, invalid("version", "%d is not a version; the first is 1", req.At)
	}
	return &Fork{req}, checkThreadUpdate(req.Thread)
}

// Replay decides whether a change that bears the id of the fork is its first,
// and returns the fork's last version, whose change [Fork.Receipt] answers by.
// The error matches [selvage.ErrAlreadyExists] if the change is another one.
func (f *Fork) Replay(first *selvage.Change) (last selvage.Version, err error) {
	set, err := first.Set()
	if err != nil {
		return 0, err
	}
	req := &f.Request
	other := fmt.Errorf("change set %q of thread %q was appended at version %d with other content: %w",
		req.ID, req.To, first.Version, selvage.ErrAlreadyExists)
	if set.Fork == nil || set.Fork.Origin.ID != req.From || req.At != 0 && set.Fork.Origin.Version != req.At {
		return 0, other
	}
	was, err := json.Marshal(set.Fork.Thread)
	if err != nil {
		return 0, err
	}
	is, err := json.Marshal(req.Thread)
	if err != nil {
		return 0, err
	}
	if !bytes.Equal(was, is) {
		return 0, other
	}
	return first.Version + selvage.Version(set.Fork.Versions) - 1, nil
}

// Receipt is the receipt of the fork whose last change is given.
func (f *Fork) Receipt(last *selvage.Change, replayed bool) (selvage.Receipt, error) {
	set, err := last.Set()
	if err != nil {
		return selvage.Receipt{}, err
	}
	receipt := receiptOf(last, &set)
	receipt.ChangeID, receipt.Replayed = f.Request.ID, replayed
	return receipt, nil
}

// Plan works out the versions of the fork, from the head of the thread it is to
// make. Of the reader only
// Parent and Blobs are called.
func (f *Fork) Plan(target *Head, from *Origin, rd Reader, now time.Time) ([]Copy, error) {
	parts, err := portions(from.Messages)
	if err != nil {
		return nil, err
	}
	copies := make([]Copy, 0, len(parts))
	h := *target
	for i, part := range parts {
		set := selvage.ChangeSet{ID: selvage.NewID(), Reason: selvage.ReasonForked, Messages: part}
		pre := selvage.Any()
		if i == 0 {
			set.ID, set.Snapshot, pre = f.Request.ID, &from.State, selvage.New()
			set.Thread = f.thread(&from.Thread)
			set.Fork = &selvage.ForkDraft{Origin: selvage.ForkOrigin{ID: from.Thread.ID, Version: from.Version, Hash: from.Hash},
				Versions: len(parts), Thread: f.Request.Thread}
		}
		body, err := selvage.EncodeBody(&set)
		if err != nil {
			return nil, err
		}
		r := &Request{ThreadID: f.Request.To, Set: set, Pre: pre, Body: body, copied: true}
		r.Content = body.Content(set.ID, "", "", set.Reason)
		if len(part) > 0 {
			r.firstSeq = part[0].Seq
		}
		p, err := r.Judge(&h, rd, now)
		if err != nil {
			return nil, err
		}
		copies, h = append(copies, Copy{set, p}), p.Next
	}
	return copies, nil
}

// thread is what the fork says about itself: what the origin does, as far as
// the request does not say otherwise.
func (f *Fork) thread(origin *selvage.Thread) *selvage.ThreadUpdate {
	u := selvage.ThreadUpdate{Metadata: map[string]json.RawMessage{}}
	if origin.ParentID != "" {
		u.ParentID = &origin.ParentID
	}
	if origin.UserID != "" {
		u.UserID = &origin.UserID
	}
	if origin.Title != "" {
		u.Title = &origin.Title
	}
	for k, v := range origin.Metadata {
		u.Metadata[k] = v
	}
	if own := f.Request.Thread; own != nil {
		if own.ParentID != nil {
			u.ParentID = own.ParentID
		}
		if own.UserID != nil {
			u.UserID = own.UserID
		}
		if own.Title != nil {
			u.Title = own.Title
		}
		for k, v := range own.Metadata {
			u.Metadata[k] = v
		}
		u.ExpiresAt = own.ExpiresAt
	}
	return &u
}

// portions divides messages into those of each version: without a gap, and
// within the bounds of a change set. The first may be empty.
func portions(messages []selvage.Message) ([][]selvage.Message, error) {
	var parts [][]selvage.Message
	begin, size := 0, 0
	for i := range messages {
		data, err := json.Marshal(&messages[i])
		if err != nil {
			return nil, invalid(fmt.Sprintf("messages[%d]", i), "%v", err)
		}
		full := i-begin == selvage.MaxSetMessages || size+len(data) > selvage.MaxSetBytes
		if i > begin && (full || messages[i].Seq != messages[i-1].Seq+1) {
			parts = append(parts, messages[begin:i])
			begin, size = i, 0
		}
		size += len(data)
	}
	return append(parts, messages[begin:]), nil
}

// skipTo leaves out seqs up to the one of the first message that is copied.
func (p *Plan) skipTo(seq int64, h *Head) error {
	if h.Exists() && h.Thread.ForkedFrom == nil {
		return invalid("reason", "only a fork goes on as one")
	}
	if seq <= p.Next.NextSeq {
		return nil
	}
	if h.Exists() {
		v := p.Next.Thread.Version
		p.Next.Rewinds = append(h.Rewinds[:len(h.Rewinds):len(h.Rewinds)], Rewind{At: v, To: v - 1, Next: seq, Back: p.Next.NextSeq})
	}
	p.Next.NextSeq = seq
	return nil
}

// Taken is the error about a fork to a thread that exists or existed.
func Taken(id selvage.ThreadID, target *Head) error {
	what := "exists at"
	if target.Deleted {
		what = "existed and was deleted at"
	}
	return fmt.Errorf("thread %q %s version %d; fork to another id: %w", id, what, target.Thread.Version, selvage.ErrAlreadyExists)
}
