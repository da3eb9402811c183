package commit

import (
	"bytes"
	"encoding/json"
	"maps"
	"time"

	"github.com/selvagehq/selvage"
)

// maxDepth bounds the ancestors of a thread, so that a walk up always ends.
const maxDepth = 1000

// judgeThread changes what the thread says about itself.
func (p *Plan) judgeThread(set *selvage.ChangeSet, h *Head, rd Reader) error {
	u := set.Thread
	if u == nil {
		return nil
	}
	t := &p.Next.Thread
	if u.ParentID != nil && *u.ParentID != t.ParentID {
		if err := judgeParent(t.ID, *u.ParentID, rd); err != nil {
			return err
		}
		t.ParentID = *u.ParentID
	}
	if u.UserID != nil {
		t.UserID = *u.UserID
	}
	if u.Title != nil {
		t.Title = *u.Title
	}
	if u.ExpiresAt != nil {
		t.ExpiresAt = time.Time{}
		if !u.ExpiresAt.IsZero() {
			t.ExpiresAt = stamp(*u.ExpiresAt)
		}
	}
	return mergeMetadata(t, u.Metadata)
}

// judgeParent refuses parents that do not exist and lineages that would bite
// their tail.
func judgeParent(id, parent selvage.ThreadID, rd Reader) error {
	if parent == "" {
		return nil
	}
	at := parent
	for range maxDepth {
		if at == id {
			return invalid("thread.parent_id", "thread %q would be its own ancestor through %q", id, parent)
		}
		above, exists, err := rd.Parent(at)
		switch {
		case err != nil:
			return err
		case !exists:
			return invalid("thread.parent_id", "parent thread %q does not exist", at)
		case above == "":
			return nil
		}
		at = above
	}
	return invalid("thread.parent_id", "thread %q would have more than %d ancestors", id, maxDepth)
}

func mergeMetadata(t *selvage.Thread, update map[string]json.RawMessage) error {
	if len(update) == 0 {
		return nil
	}
	merged := maps.Clone(t.Metadata)
	if merged == nil {
		merged = make(map[string]json.RawMessage, len(update))
	}
	for k, v := range update {
		if v == nil || bytes.Equal(v, []byte("null")) {
			delete(merged, k)
			continue
		}
		merged[k] = v
	}
	if len(merged) > selvage.MaxMetadataKeys {
		return invalid("thread.metadata", "a thread has at most %d metadata keys, this one would have %d", selvage.MaxMetadataKeys, len(merged))
	}
	if len(merged) == 0 {
		merged = nil
	}
	t.Metadata = merged
	return nil
}
