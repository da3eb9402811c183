package storetest

import (
	"slices"

	"github.com/selvagehq/selvage"
)

// seen are the messages that can be seen at a version, 0 being the head.
func (t *modelThread) seen(at selvage.Version) []modelMessage {
	if at == 0 {
		return t.messages
	}
	return t.past[at].messages
}

// messagesOf answers a query the slow way.
func (t *modelThread) messagesOf(q selvage.MessageQuery) []int64 {
	seqs := []int64{}
	for _, msg := range t.seen(q.At) {
		shown := q.Visibility == selvage.ShowAll || msg.internal == (q.Visibility == selvage.ShowInternal)
		if shown && msg.seq > q.After && (q.Before == 0 || msg.seq < q.Before) && (q.RunID == "" || msg.run == q.RunID) {
			seqs = append(seqs, msg.seq)
		}
	}
	if q.Order == selvage.Descending {
		slices.Reverse(seqs)
	}
	return seqs
}

// threadsOf answers a query the slow way.
func (m *model) threadsOf(q selvage.ThreadQuery) []selvage.ThreadID {
	ids := []selvage.ThreadID{}
	for _, id := range slices.Backward(m.order) {
		t := m.threads[id]
		if m.exists(id) && q.Parent.Match(t.parent) && (q.UserID == "" || q.UserID == t.user) {
			ids = append(ids, id)
		}
	}
	return ids
}

// runsOf answers a query the slow way.
func (m *model) runsOf(q selvage.RunQuery) []selvage.RunID {
	ids := []selvage.RunID{}
	for _, r := range slices.Backward(m.runs) {
		if (q.ThreadID == "" || q.ThreadID == r.thread) && (q.Status == "" || q.Status == r.status) && (!q.Open || r.status != selvage.RunDone) {
			ids = append(ids, r.id)
		}
	}
	return ids
}
