package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/selvagehq/selvage"
)

// CoveringSummaries returns the ids of the summaries that were made of any of
// the messages, or of a summary of them, oldest first; without those that are
// among the messages themselves. It reads all messages of the thread. Who
// erases a message has to erase these too, for they may quote it; one that is
// erased is not used any more.
func CoveringSummaries(ctx context.Context, store selvage.Store, thread selvage.ThreadID, messages []string) ([]string, error) {
	limit := selvage.MaxPage
	query := selvage.MessageQuery{Visibility: selvage.ShowAll, Order: selvage.Ascending, Limit: &limit}
	var hit []int64 // seqs of the messages, and of summaries made of them
	var covering []string
	for {
		page, err := store.Messages(ctx, thread, query)
		if err != nil {
			return nil, fmt.Errorf("look for summaries: %w", err)
		}
		for i := range page.Items {
			m := &page.Items[i]
			switch named := slices.Contains(messages, m.ID); {
			case named:
				hit = append(hit, m.Seq)
			case summarises(m) && coversAny(m, hit):
				hit, covering = append(hit, m.Seq), append(covering, m.ID)
			}
		}
		if page.Next == "" {
			return covering, nil
		}
		query.Cursor = page.Next
	}
}

// coversAny reports whether a summary was made of one of the messages of which
// these are the seqs. One that does not say of what is taken to be.
func coversAny(m *selvage.Message, seqs []int64) bool {
	var of summaryMark
	if json.Unmarshal(m.Metadata[MetadataSummary], &of) != nil || of.ToSeq <= 0 {
		return len(seqs) > 0
	}
	// It was made of the summary before it too, whatever that covers.
	return slices.ContainsFunc(seqs, func(seq int64) bool { return seq <= of.ToSeq })
}
