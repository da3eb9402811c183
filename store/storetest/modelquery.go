package storetest

import (
	"slices"

	"github.com/selvagehq/selvage"
)

// messagesOf answers a query the slow way.
func (t *modelThread) messagesOf(q selvage.MessageQuery) []int64 {
	seqs := []int64{}
	for _, msg := range t.messages {
		shown := q.Visibility == selvage.ShowAll || msg.internal == (q.Visibility == selvage.ShowInternal)
		if shown && (q.At == 0 || msg.version <= q.At) && msg.seq > q.After && (q.Before == 0 || msg.seq < q.Before) && (q.RunID == "" || msg.run == q.RunID) {
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
