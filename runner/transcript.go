package runner

import (
	"context"
	"fmt"
	"strings"

	"github.com/selvagehq/selvage"
)

// record is the conversation that is to be summarised.
type record struct {
	store    selvage.Store
	thread   selvage.ThreadID
	version  selvage.Version
	messages []selvage.Message // its end, which is known
	before   *summary          // of what was before it
	tokens   int               // that it may take
}

// text writes the conversation as a text, its end first if not all of it fits,
// and returns from which seq on it does.
func (q *record) text(ctx context.Context) (text string, from int64, err error) {
	if err := q.readBack(ctx); err != nil {
		return "", 0, err
	}
	room := q.tokens * charsPerToken
	var lines []string
	for i := len(q.messages) - 1; i >= 0; i-- {
		line := quoted(&q.messages[i])
		if room -= len(line); room < 0 && len(lines) > 0 {
			break
		}
		lines, from = append(lines, line), q.messages[i].Seq
	}
	var b strings.Builder
	if q.before != nil {
		b.WriteString(q.before.message.Text() + "\n\n")
		if from <= q.messages[0].Seq {
			from = q.before.FromSeq
		}
	}
	for i := len(lines) - 1; i >= 0; i-- {
		b.WriteString(lines[i])
	}
	return "The record:\n\n" + b.String() + "\nSummarise it.", from, nil
}

// readBack reads what of the conversation is neither known nor covered, as far
// as there is room for it.
func (q *record) readBack(ctx context.Context) error {
	limit := selvage.MaxPage
	query := selvage.MessageQuery{At: q.version, Before: q.messages[0].Seq, Order: selvage.Descending, Visibility: selvage.ShowAll, Limit: &limit}
	if q.before != nil {
		query.After = q.before.ToSeq
	}
	for estimateAll(q.messages) < q.tokens {
		page, err := q.store.Messages(ctx, q.thread, query)
		if err != nil {
			return fmt.Errorf("read what is to be summarised: %w", err)
		}
		older := make([]selvage.Message, 0, len(page.Items)+len(q.messages))
		for i := len(page.Items) - 1; i >= 0; i-- {
			if !summarises(&page.Items[i]) {
				older = append(older, page.Items[i])
			}
		}
		q.messages = append(older, q.messages...)
		if page.Next == "" {
			return nil
		}
		query.Cursor = page.Next
	}
	return nil
}

// quoted is a message in a record.
func quoted(m *selvage.Message) string {
	view := shown(m)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", m.Role, clipped(view.Text(), quotedBytes))
	for _, c := range view.ToolCalls {
		fmt.Fprintf(&b, " [calls %s %s]", c.Name, clipped(string(c.Arguments), quotedBytes))
	}
	b.WriteString("\n")
	return b.String()
}

// clipped cuts a text that is longer than so many bytes.
func clipped(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + " [cut]"
}
