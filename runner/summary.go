package runner

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// MetadataSummary is the key in the metadata of an internal message that stands
// in for the beginning of the conversation. Its value is
// {"from_seq":...,"to_seq":...}: the messages that it covers.
const MetadataSummary = "summary"

// sourceContext is the source of the patches that say which summary is in force.
const sourceContext = "runner:context"

// summary is a message that stands in for others.
type summary struct {
	summaryMark
	message selvage.Message
}

// summaryMark is what the metadata of a summary say.
type summaryMark struct {
	FromSeq int64 `json:"from_seq"`
	ToSeq   int64 `json:"to_seq"`
}

// summaryPointer is what the state says of the summary in force, under
// [state.ContextKey].
type summaryPointer struct {
	ID string `json:"id"`
	summaryMark
}

// summarises reports whether a message is a summary.
func summarises(m *selvage.Message) bool {
	if !m.Internal() {
		return false // most are not, and need no look into their metadata
	}
	_, ok := m.Metadata[MetadataSummary]
	return ok
}

// newSummary makes the message that stands in for others. It is not recorded
// yet.
func newSummary(text string, of summaryMark, step int) *summary {
	m := selvage.Message{ID: selvage.NewID(), Role: selvage.RoleSystem, Visibility: selvage.VisibleInternal, Step: step,
		Content: selvage.Text("[Summary of the conversation before what follows]\n" + text)}
	mark(&m, MetadataSummary, of)
	return &summary{of, m}
}

// pointer is the patch that puts the summary in force.
func (s *summary) pointer() (state.Patch, error) {
	v, err := state.ValueOf(map[string]any{"summary": map[string]any{"id": s.message.ID, "from_seq": s.FromSeq, "to_seq": s.ToSeq}})
	return state.Patch{state.Set(state.At(state.ContextKey), v)}, err
}

// pointed returns what a state says of the summary in force, or nil.
func pointed(doc state.Document) *summaryPointer {
	v, ok := doc.Get(state.At(state.ContextKey, "summary"))
	if !ok {
		return nil
	}
	var p summaryPointer
	if json.Unmarshal(v.AppendJSON(nil), &p) != nil || p.ID == "" || p.ToSeq <= 0 {
		return nil
	}
	return &p
}

// recallSummary finds the summary in force, in the window or else with one
// query. One that is not there any more, or was erased, is not in force.
func (x *run) recallSummary(ctx context.Context) error {
	x.summary = nil
	p := pointed(x.doc)
	if p == nil {
		return nil
	}
	for i := range x.window {
		if m := &x.window[i]; m.ID == p.ID {
			x.summary = p.of(m)
			return nil
		}
	}
	before := int64(0)
	if len(x.window) > 0 {
		before = x.window[0].Seq
	}
	s, err := findSummary(ctx, x.store, x.thread, p.ID, 0, p.ToSeq, before)
	if err != nil {
		return fmt.Errorf("read the summary of the conversation: %w", err)
	}
	x.summary = s
	return nil
}

// of is the summary that a message is, or nil if it was erased.
func (p *summaryPointer) of(m *selvage.Message) *summary {
	if m.Erased || !summarises(m) {
		return nil
	}
	return &summary{p.summaryMark, *m}
}

// summaryPages bounds how far after what it covers a summary is looked for: it
// was recorded while the model was given no more than a window.
const summaryPages = 5

// findSummary looks for a summary by its id after what it covers, as the thread
// was at a version (0 is now), and nil if it is not there.
func findSummary(ctx context.Context, store selvage.Store, thread selvage.ThreadID, id string, at selvage.Version, after, before int64) (*summary, error) {
	limit := selvage.MaxPage
	query := selvage.MessageQuery{At: at, After: after, Before: before, Visibility: selvage.ShowAll, Limit: &limit}
	for range summaryPages {
		page, err := store.Messages(ctx, thread, query)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			m := &page.Items[i]
			if m.ID != id || !summarises(m) {
				continue
			}
			var of summaryMark
			if err := json.Unmarshal(m.Metadata[MetadataSummary], &of); err != nil {
				return nil, nil
			}
			return (&summaryPointer{ID: id, summaryMark: of}).of(m), nil
		}
		if page.Next == "" {
			break
		}
		query.Cursor = page.Next
	}
	return nil, nil
}

// takeSummary puts a summary that is ready in force, and books what it cost. It
// is recorded with what the run says next.
func (x *run) takeSummary(ctx context.Context) {
	job := x.context.job
	if job == nil {
		return
	}
	select {
	case <-job.done:
	default:
		return
	}
	x.context.job = nil
	x.usage, x.cost = x.usage.Add(job.usage), x.cost+job.cost
	if job.err != nil {
		if ended(ctx) == nil {
			x.log.WarnContext(ctx, "the conversation was not summarised and is cut instead", "run", x.id, "err", job.err)
		}
		return
	}
	x.summary, x.context.unsaid = newSummary(job.text, job.of, x.step), true
}

// saySummary adds a new summary to what is to be recorded.
func (x *run) saySummary() {
	if !x.context.unsaid {
		return
	}
	x.context.unsaid = false
	patch, err := x.summary.pointer()
	if err == nil {
		err = x.patch(sourceContext, patch)
	}
	if err != nil {
		x.summary = nil // it does not apply to a state such as this
		return
	}
	x.say(x.summary.message)
}
