package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/selvagehq/selvage"
)

// MetadataContext is the key in the metadata of an answer that says what of the
// thread the model was given for it; see [ContextOf].
const MetadataContext = "context"

// frame is what of a thread the model was given for an answer, as the metadata
// of that answer have it.
type frame struct {
	Version selvage.Version `json:"version"` // of the thread then
	FromSeq int64           `json:"from_seq"`
	ToSeq   int64           `json:"to_seq"`
	Count   int             `json:"count"`             // messages, the summary aside
	Summary string          `json:"summary,omitempty"` // id of the message that stood in for what was before
	Tokens  int64           `json:"tokens"`            // estimated, of all that the model was given
	Used    int64           `json:"used,omitempty"`    // the same, as the provider counted it
	Dropped int64           `json:"dropped,omitempty"` // seqs before FromSeq that neither was given nor the summary covers
	// Ranges are the seqs, if they are not all from FromSeq to ToSeq.
	Ranges [][2]int64 `json:"ranges,omitempty"`
	// Open are the calls that had no result yet, and News that one came late.
	Open []string `json:"open,omitempty"`
	News bool     `json:"news,omitempty"`
}

// frameOf is the account of a view that takes the messages from an index on.
func (x *run) frameOf(all []selvage.Message, from int) *frame {
	f := &frame{Version: x.version, Count: len(all) - from, Tokens: int64(x.overhead() + estimateAll(all[from:])), News: x.news}
	for i := from; i < len(all); i++ {
		f.add(all[i].Seq)
	}
	if len(f.Ranges) > 0 {
		f.FromSeq, f.ToSeq = f.Ranges[0][0], f.Ranges[len(f.Ranges)-1][1]
	}
	if len(f.Ranges) == 1 {
		f.Ranges = nil
	}
	covered := int64(0)
	if x.summary != nil {
		f.Summary, covered = x.summary.message.ID, x.summary.ToSeq
		f.Tokens += int64(estimate(&x.summary.message))
	}
	f.Dropped = max(f.FromSeq-covered-1, 0)
	for i := range x.open {
		f.Open = append(f.Open, x.open[i].call.ID)
	}
	return f
}

// add takes in the seq of a message. One without a seq is not recorded.
func (f *frame) add(seq int64) {
	last := len(f.Ranges) - 1
	switch {
	case seq == 0:
	case last >= 0 && f.Ranges[last][1] == seq-1:
		f.Ranges[last][1] = seq
	default:
		f.Ranges = append(f.Ranges, [2]int64{seq, seq})
	}
}

// has reports whether the message of a seq was among those given.
func (f *frame) has(seq int64) bool {
	if len(f.Ranges) == 0 {
		return seq >= f.FromSeq && seq <= f.ToSeq
	}
	return slices.ContainsFunc(f.Ranges, func(r [2]int64) bool { return seq >= r[0] && seq <= r[1] })
}

// compose makes of messages and a summary what the model is given.
func (f *frame) compose(messages []selvage.Message, s *summary) []selvage.Message {
	waits := func(callID string) bool { return slices.Contains(f.Open, callID) }
	view := arrange(messages, waits)
	if len(f.Open) > 0 || f.News {
		view = announced(messages, view)
	}
	if s != nil {
		view = append([]selvage.Message{s.message}, view...)
	}
	return view
}

// Sent is what a model was given for one answer.
type Sent struct {
	System   string
	Messages []selvage.Message // with the summary, if there was one, in front
	Tools    []string          // names of those that were offered
	Model    string            // that answered
	Summary  string            // id of the summary; empty if there was none
	Count    int               // messages without it
	FromSeq  int64
	ToSeq    int64
	Dropped  int64 // seqs before FromSeq that neither was given nor the summary covers
	Tokens   int64 // estimated
	Used     int64 // as the provider counted; 0 if it did not say
}

// ContextOf rebuilds from the log what the model was given for the answer of a
// step of a run, from 1, exactly as it was, except for content that was erased
// since. It matches [selvage.ErrNotFound] if there is no such answer, or it does
// not say what it was given.
func ContextOf(ctx context.Context, store selvage.Store, run selvage.RunID, step int) (Sent, error) {
	sent, err := contextOf(ctx, store, run, step)
	if err != nil {
		return Sent{}, fmt.Errorf("context of step %d of run %q: %w", step, run, err)
	}
	return sent, nil
}

func contextOf(ctx context.Context, store selvage.Store, id selvage.RunID, step int) (Sent, error) {
	run, err := FindRun(ctx, store, id)
	if err != nil {
		return Sent{}, err
	}
	reply, at, err := answerOf(ctx, store, &run, step)
	if err != nil {
		return Sent{}, err
	}
	f := frameIn(reply)
	if f == nil {
		return Sent{}, fmt.Errorf("the answer does not say what it was given: %w", selvage.ErrNotFound)
	}
	sent := Sent{Model: run.Spec.Model, System: run.Spec.System, Summary: f.Summary, Count: f.Count, FromSeq: f.FromSeq, ToSeq: f.ToSeq,
		Dropped: f.Dropped, Tokens: f.Tokens, Used: f.Used}
	for _, use := range run.Spec.Tools {
		sent.Tools = append(sent.Tools, use.Name)
	}
	if raw, ok := reply.Metadata[MetadataOffered]; ok {
		_ = json.Unmarshal(raw, &sent.Tools) // what is unintelligible offered nothing else
	}
	if raw, ok := reply.Metadata[MetadataModel]; ok {
		_ = json.Unmarshal(raw, &sent.Model) // likewise
	}
	messages, err := framed(ctx, store, run.ThreadID, f)
	if err != nil {
		return Sent{}, err
	}
	var s *summary
	if f.Summary != "" {
		if s, err = findSummary(ctx, store, run.ThreadID, f.Summary, at, f.FromSeq-f.Dropped-1, reply.Seq); err != nil {
			return Sent{}, err
		}
	}
	sent.Messages = f.compose(messages, s)
	return sent, nil
}

// answerOf finds the answer that a run gave in a step, and at which version the
// thread shows it: 0 if it still does.
func answerOf(ctx context.Context, store selvage.Store, run *selvage.Run, step int) (*selvage.Message, selvage.Version, error) {
	limit := selvage.MaxPage
	query := selvage.MessageQuery{RunID: run.ID, Limit: &limit}
	for run.Spec != nil {
		page, err := store.Messages(ctx, run.ThreadID, query)
		if err != nil {
			return nil, 0, err
		}
		for i := range page.Items {
			if m := &page.Items[i]; m.Role == selvage.RoleAssistant && m.Step == step {
				return m, 0, nil
			}
		}
		if query.Cursor = page.Next; page.Next == "" {
			return hiddenAnswer(ctx, store, run, step)
		}
	}
	return nil, 0, errNoAnswer
}

var errNoAnswer = fmt.Errorf("there is no such answer: %w", selvage.ErrNotFound)

// hiddenAnswer finds in the log an answer that its thread was rewound from.
func hiddenAnswer(ctx context.Context, store selvage.Store, run *selvage.Run, step int) (*selvage.Message, selvage.Version, error) {
	limit := selvage.MaxPage
	for query := (selvage.ChangeQuery{Order: selvage.Descending, Limit: &limit}); ; {
		page, err := store.Changes(ctx, run.ThreadID, query)
		if err != nil {
			return nil, 0, err
		}
		for i := range page.Items {
			c := &page.Items[i]
			if c.RunID != run.ID {
				continue
			}
			added, err := c.AddedMessages()
			if err != nil {
				return nil, 0, err
			}
			for j := range added {
				if m := &added[j]; m.Role == selvage.RoleAssistant && m.Step == step {
					return m, c.Version, nil
				}
			}
		}
		if query.Cursor = page.Next; page.Next == "" {
			return nil, 0, errNoAnswer
		}
	}
}

// framed reads the messages of a frame, as the thread had them then.
func framed(ctx context.Context, store selvage.Store, thread selvage.ThreadID, f *frame) ([]selvage.Message, error) {
	limit := selvage.MaxPage
	query := selvage.MessageQuery{At: f.Version, After: f.FromSeq - 1, Before: f.ToSeq + 1, Visibility: selvage.ShowAll, Limit: &limit}
	var messages []selvage.Message
	for {
		page, err := store.Messages(ctx, thread, query)
		if errors.Is(err, selvage.ErrGone) && query.At != 0 {
			query.At, query.Cursor, messages = 0, "", nil // states are compacted; messages stay
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, m := range page.Items {
			if f.has(m.Seq) && !summarises(&m) {
				messages = append(messages, m)
			}
		}
		if page.Next == "" {
			return messages, nil
		}
		query.Cursor = page.Next
	}
}
