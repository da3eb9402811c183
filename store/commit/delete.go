package commit

import (
	"fmt"
	"time"

	"github.com/selvagehq/selvage"
)

// Delete plans the final change of a thread: a tombstone whose header stays
// when every other row goes. The error matches [selvage.ErrNotFound] if there
// is nothing to delete.
func Delete(id selvage.ThreadID, h *Head, now time.Time) (*Plan, error) {
	if !h.Exists() {
		return nil, fmt.Errorf("thread %q: %w", id, selvage.ErrNotFound)
	}
	set := selvage.ChangeSet{ID: selvage.NewID(), Reason: selvage.ReasonDeleted}
	body, err := selvage.EncodeBody(&set)
	if err != nil {
		return nil, err
	}
	r := &Request{ThreadID: id, Set: set, Body: body}
	r.Content = body.Content(set.ID, "", "", set.Reason)
	p := &Plan{Next: next(h, id, stamp(now))}
	p.Next.Deleted = true
	p.Next.OpenRun, p.Next.OpenCalls, p.Next.Rewinds, p.Next.Horizon = nil, nil, nil, 0
	p.Next.Thread = selvage.Thread{ID: id, Tenant: h.Thread.Tenant, Version: p.Next.Thread.Version,
		CreatedAt: h.Thread.CreatedAt, UpdatedAt: p.Next.Thread.UpdatedAt}
	// Whoever holds the lease must not write to what comes after.
	p.Next.Epoch++
	p.Change.FirstSeq = p.Next.NextSeq
	p.seal(r, h)
	return p, nil
}

// Detach is the request that makes a child of a deleted thread a root.
func Detach(child selvage.ThreadID) (*Request, error) {
	var none selvage.ThreadID
	return NewRequest(child, selvage.ChangeSet{Reason: selvage.ReasonThreadUpdated,
		Thread: &selvage.ThreadUpdate{ParentID: &none}}, selvage.Any())
}

// CheckStrategy reports whether s is a delete strategy.
func CheckStrategy(s selvage.DeleteStrategy) error {
	switch s {
	case selvage.DeleteReject, selvage.DeleteDetach, selvage.DeleteCascade:
		return nil
	default:
		return invalid("strategy", "%q is not a delete strategy; use reject, detach or cascade", s)
	}
}
