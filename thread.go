package selvage

import (
	"encoding/json"
	"time"

	"github.com/selvagehq/selvage/state"
)

// Thread is the head of one line of conversation and work, as of Version.
type Thread struct {
	ID          ThreadID                   `json:"id"`
	Tenant      string                     `json:"tenant,omitempty"`
	Version     Version                    `json:"version"`
	ParentID    ThreadID                   `json:"parent_id,omitempty"`
	UserID      string                     `json:"user_id,omitempty"` // whom the thread and its memory belong to
	Title       string                     `json:"title,omitempty"`
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty"`
	ForkedFrom  *ForkOrigin                `json:"forked_from,omitempty"`
	ActiveRunID RunID                      `json:"active_run_id,omitempty"` // the run whose status is running
	OpenRunID   RunID                      `json:"open_run_id,omitempty"`   // the run that is not done
	LatestRunID RunID                      `json:"latest_run_id,omitempty"` // the last run created
	ExpiresAt   time.Time                  `json:"expires_at,omitzero"`
	CreatedAt   time.Time                  `json:"created_at"`
	UpdatedAt   time.Time                  `json:"updated_at"`
}

// ForkOrigin says where a forked thread came from.
type ForkOrigin struct {
	ID      ThreadID `json:"id"`
	Version Version  `json:"version"`
	Hash    Hash     `json:"hash"`
}

// ThreadUpdate changes what a thread says about itself. A nil field stays as
// it is; a pointer to the zero value clears it.
type ThreadUpdate struct {
	ParentID *ThreadID `json:"parent_id,omitempty"`
	UserID   *string   `json:"user_id,omitempty"`
	Title    *string   `json:"title,omitempty"`
	// Metadata is merged key by key; a JSON null removes its key.
	Metadata  map[string]json.RawMessage `json:"metadata,omitempty"`
	ExpiresAt *time.Time                 `json:"expires_at,omitempty"`
}

// Head is a thread at one consistent point: every field is as of
// Thread.Version.
type Head struct {
	Thread Thread         `json:"thread"`
	Hash   Hash           `json:"hash"` // of the last change
	State  state.Document `json:"state"`
	// Messages are the last messages, oldest first, internal ones included.
	Messages []Message `json:"messages"`
	NextSeq  int64     `json:"next_seq"` // the seq the next message will get
	OpenRun  *Run      `json:"open_run,omitempty"`
	// OpenCalls are the journalled tool calls that are in no terminal status.
	OpenCalls []Call `json:"open_calls,omitempty"`
	// Lease is the lease somebody holds now, without its token.
	Lease *Lease `json:"lease,omitempty"`
}

// DeleteStrategy says what [Store.Delete] does about a thread's children.
type DeleteStrategy string

// The delete strategies.
const (
	DeleteReject  DeleteStrategy = "reject"  // refuse if there is any child
	DeleteDetach  DeleteStrategy = "detach"  // children become roots
	DeleteCascade DeleteStrategy = "cascade" // every descendant goes too
)
