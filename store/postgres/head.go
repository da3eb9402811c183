package postgres

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/commit"
)

// head is what is known about a thread at one point. It is never modified once
// it is shared.
type head struct {
	commit.Head
	stateVersion int64 // of the last change of the state
	tombstone    int64 // version of the end of the life before
	firstSeq     int64 // of this life

	// doc is the state document at the head; nil if it was not read.
	doc *state.Document
	// cached is the version of the newest state document in the database as
	// far as is known, and tail what was appended to the state since, in bytes.
	cached int64
	tail   int
	bytes  int // of doc, about
}

// headColumns are what a headRow scans, in its order.
const headColumns = `t.version, t.next_seq, t.state_version, t.updated_at, t.epoch, t.created_at, t.tombstone, t.first_seq,
	t.expires_at, t.deleted, t.hash, t.run, t.calls, t.parent, t.user_id, t.info, t.rewinds, t.horizon`

// headRow is a row of the table threads as it is scanned. Every column is
// nullable because the row may be missing.
type headRow struct {
	version, nextSeq, stateVersion, updatedAt, epoch, createdAt, tombstone, firstSeq *int64
	expiresAt, horizon                                                               *int64
	deleted                                                                          *bool
	hash, run, calls, parent                                                         []byte
	user                                                                             *string
	info, rewinds                                                                    []byte
}

func (r *headRow) targets() []any {
	return []any{&r.version, &r.nextSeq, &r.stateVersion, &r.updatedAt, &r.epoch, &r.createdAt, &r.tombstone, &r.firstSeq,
		&r.expiresAt, &r.deleted, &r.hash, &r.run, &r.calls, &r.parent, &r.user, &r.info, &r.rewinds, &r.horizon}
}

// threadInfo is what a thread says about itself beyond what has a column.
type threadInfo struct {
	Title      string                     `json:"title,omitempty"`
	Metadata   map[string]json.RawMessage `json:"metadata,omitempty"`
	ForkedFrom *selvage.ForkOrigin        `json:"forked_from,omitempty"`
	LatestRun  selvage.RunID              `json:"latest_run,omitempty"`
}

// head decodes the row. A missing row is a thread that never was.
func (r *headRow) head(tenant string, id selvage.ThreadID) (*head, error) {
	if r.version == nil {
		return newHead(tenant), nil
	}
	h := newHead(tenant)
	*h = head{Head: h.Head, stateVersion: *r.stateVersion, tombstone: *r.tombstone, firstSeq: *r.firstSeq}
	if h.stateVersion == 0 {
		h.doc = &state.Document{}
	}
	h.Epoch, h.NextSeq, h.Deleted, h.Horizon = *r.epoch, *r.nextSeq, *r.deleted, selvage.Version(*r.horizon)
	corrupt := func(what string, err error) error {
		return damaged(id, *r.version, "the %s of its head: %v", what, err)
	}
	if len(r.hash) != len(h.Hash) {
		return nil, corrupt("hash", fmt.Errorf("it has %d bytes", len(r.hash)))
	}
	copy(h.Hash[:], r.hash)
	if *r.version == 0 {
		return h, nil
	}
	t := &h.Thread
	*t = selvage.Thread{ID: id, Tenant: tenant, Version: selvage.Version(*r.version), ParentID: selvage.ThreadID(unpackID(r.parent)),
		CreatedAt: time.UnixMilli(*r.createdAt).UTC(), UpdatedAt: time.UnixMilli(*r.updatedAt).UTC()}
	if r.user != nil {
		t.UserID = *r.user
	}
	if r.expiresAt != nil {
		t.ExpiresAt = time.UnixMilli(*r.expiresAt).UTC()
	}
	if r.info != nil {
		if err := h.setInfo(r.info); err != nil {
			return nil, corrupt("description", err)
		}
	}
	if err := h.setOpen(r.run, r.calls); err != nil {
		return nil, corrupt("open run", err)
	}
	var err error
	if h.Rewinds, err = commit.UnpackRewinds(r.rewinds); err != nil {
		return nil, corrupt("history", err)
	}
	return h, nil
}

// life tells the lives of a thread apart, by the version of the tombstone that
// came before. A tombstone begins the next one, of which there is nothing yet.
func (h *head) life() int64 {
	if h.Deleted {
		return int64(h.Thread.Version)
	}
	return h.tombstone
}

// newHead is the head of a thread that never was.
func newHead(tenant string) *head {
	h := &head{firstSeq: 1, doc: &state.Document{}}
	h.Thread.Tenant = tenant
	return h
}

// setInfo decodes what has no column of its own.
func (h *head) setInfo(data []byte) error {
	var info threadInfo
	if data != nil {
		if err := decodeJSON("the description", data, &info); err != nil {
			return err
		}
	}
	t := &h.Thread
	t.Title, t.Metadata, t.ForkedFrom, t.LatestRunID = info.Title, info.Metadata, info.ForkedFrom, info.LatestRun
	return nil
}

// setOpen decodes the open run and the open calls.
func (h *head) setOpen(run, calls []byte) error {
	h.OpenRun, h.OpenCalls = nil, nil
	h.Thread.OpenRunID, h.Thread.ActiveRunID = "", ""
	if run != nil {
		h.OpenRun = &selvage.Run{}
		if err := decodeJSON("the open run", run, h.OpenRun); err != nil {
			return err
		}
		h.Thread.OpenRunID = h.OpenRun.ID
		if h.OpenRun.Status == selvage.RunRunning {
			h.Thread.ActiveRunID = h.OpenRun.ID
		}
	}
	if calls != nil {
		return decodeJSON("the open calls", calls, &h.OpenCalls)
	}
	return nil
}

// encodeInfo encodes what has no column of its own; nil if there is nothing.
func encodeInfo(t *selvage.Thread) ([]byte, error) {
	info := threadInfo{Title: t.Title, Metadata: t.Metadata, ForkedFrom: t.ForkedFrom, LatestRun: t.LatestRunID}
	if info.Title == "" && len(info.Metadata) == 0 && info.ForkedFrom == nil && info.LatestRun == "" {
		return nil, nil
	}
	return encodeJSON(&info)
}

// encodeRun encodes a run without its spec, which never changes and has a
// column of its own.
func encodeRun(r *selvage.Run) ([]byte, error) {
	bare := *r
	bare.Spec = nil
	return encodeJSON(&bare)
}

// missing returns the error for a thread that cannot be read, or nil.
func (h *head) missing(id selvage.ThreadID) error {
	switch {
	case h.Deleted:
		return fmt.Errorf("thread %q was deleted at version %d: %w", id, h.Thread.Version, selvage.ErrNotFound)
	case !h.Exists():
		return fmt.Errorf("thread %q: %w", id, selvage.ErrNotFound)
	}
	return nil
}

// at resolves a version of a thread, 0 being the head.
func (h *head) at(v selvage.Version) (selvage.Version, error) {
	id, now := h.Thread.ID, h.Thread.Version
	switch {
	case v == 0:
		return now, nil
	case v < 0:
		return 0, &selvage.InvalidError{Field: "version", Reason: fmt.Sprintf("%d is not a version; the first is 1", v)}
	case v > now:
		return 0, fmt.Errorf("thread %q has not reached version %d, it is at %d: %w", id, v, now, selvage.ErrNotFound)
	case v <= selvage.Version(h.tombstone):
		return 0, fmt.Errorf("thread %q was deleted at version %d, and version %d went with it: %w", id, h.tombstone, v, selvage.ErrGone)
	}
	return v, nil
}

// known returns nil if the state of a version was not compacted.
func (h *head) known(v selvage.Version) error {
	if v < h.Horizon {
		return commit.GoneBelow(&h.Head, v)
	}
	return nil
}

// size is about what the head costs in memory, in bytes.
func (h *head) size() int {
	n := 512 + len(h.Thread.Title) + 64*len(h.Thread.Metadata) + 512*len(h.OpenCalls) + 32*len(h.Rewinds) + 2*h.bytes
	for _, v := range h.Thread.Metadata {
		n += len(v)
	}
	return n
}
