package selvage

import (
	"context"
	"encoding/json"
	"time"
)

// Config is a registry of versioned JSON: agents, tools, policies. A resource
// is named by a kind and an id. Publishing adds a version; no version is ever
// changed. It is found with [As].
//
// Writes answer [ErrInvalid] for a bad name or value, [ErrTooLarge] above
// [MaxConfigBytes], and nothing was written then. [ErrUnknownOutcome] and
// [ErrUnavailable] leave the outcome unknown: read the resource.
type Config interface {
	// Publish makes a value the current version of a resource, which need not
	// exist. A value equal to the current one, in the sense of its hash, adds
	// nothing and is answered with Unchanged. pre says what must be there:
	// [Any] whatever there is, [New] no version yet ([ErrAlreadyExists]
	// otherwise), [Exact] the current version (a [StaleError] otherwise). An
	// archived resource is invalid.
	Publish(ctx context.Context, d ConfigDraft, pre Precondition) (ConfigVersion, error)

	// Rollback publishes an older version's value again, as a new version that
	// names it in RestoredFrom. To the current version, or an equal one, it
	// adds nothing. A version that is not there matches [ErrNotFound], one
	// that was pruned [ErrGone].
	Rollback(ctx context.Context, name ConfigName, to Version, pre Precondition) (ConfigVersion, error)

	// Archive takes a resource out of use: it takes no new version until
	// Unarchive. Its history stays readable. Both may be repeated; a resource
	// that is not there matches [ErrNotFound].
	Archive(ctx context.Context, name ConfigName) error
	Unarchive(ctx context.Context, name ConfigName) error

	// Resource returns what is known of a resource but its values, or an error
	// matching [ErrNotFound].
	Resource(ctx context.Context, name ConfigName) (ConfigResource, error)

	// Version returns a version of a resource; 0 asks for the current one. A
	// resource or version that is not there matches [ErrNotFound], one that
	// was pruned [ErrGone], one whose value is not what was published
	// [ErrCorrupt].
	Version(ctx context.Context, name ConfigName, v Version) (ConfigVersion, error)

	// Versions returns a page of a resource's versions, newest first.
	Versions(ctx context.Context, q ConfigVersionQuery) (ConfigVersionPage, error)

	// Resources returns a page of resources, by kind and id.
	Resources(ctx context.Context, q ConfigQuery) (ConfigPage, error)

	// Prune removes old versions by a rule and returns which. Current versions
	// and those that a publication names always stay. It may be repeated after
	// any error: a resource at a time is one transaction.
	Prune(ctx context.Context, r ConfigRetention) ([]ConfigPin, error)
}

// MaxConfigBytes bounds the value of one version, in bytes.
const MaxConfigBytes = 256 << 10

// ConfigName names a resource: "agent", "writer".
type ConfigName struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

// ConfigDraft is a value to publish.
type ConfigDraft struct {
	ConfigName

	Schema int             `json:"schema,omitempty"` // version of the value's shape; part of its hash
	Value  json.RawMessage `json:"value"`            // any JSON; its bytes are kept
	Note   string          `json:"note,omitempty"`   // why, for people
}

// MaxConfigNote bounds the note of a version, in bytes.
const MaxConfigNote = 4 << 10

// ConfigVersion is one version of a resource.
type ConfigVersion struct {
	ConfigDraft

	Version Version `json:"version"` // from 1, dense
	// Hash is the SHA-256 of the schema and of the value's canonical form: it
	// is the same on every backend, whatever the order of keys.
	Hash         Hash      `json:"hash"`
	RestoredFrom Version   `json:"restored_from,omitempty"` // of a rollback
	CreatedAt    time.Time `json:"created_at"`
	// Unchanged reports that nothing was published: this version was current.
	Unchanged bool `json:"unchanged,omitempty"`
}

// ConfigResource is what is known of a resource.
type ConfigResource struct {
	ConfigName

	Current   Version   `json:"current"`
	Hash      Hash      `json:"hash"` // of the current version
	Archived  bool      `json:"archived,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// ConfigPin names one version of a resource.
type ConfigPin struct {
	ConfigName

	Version Version `json:"version"`
	Hash    Hash    `json:"hash"`
}

// ConfigVersionQuery selects versions of a resource.
type ConfigVersionQuery struct {
	Name   ConfigName
	Limit  *int // see [PageLimit]
	Cursor Cursor
}

// ConfigVersionPage is one page of versions. Next is empty on the last page.
type ConfigVersionPage struct {
	Items []ConfigVersion `json:"items"`
	Next  Cursor          `json:"next_cursor,omitempty"`
}

// ConfigQuery selects resources. A page may hold fewer than its limit, even
// none, and a cursor, where archived ones are left out.
type ConfigQuery struct {
	Kind     string // empty means all
	Archived bool   // archived ones, too
	Limit    *int
	Cursor   Cursor
}

// ConfigPage is one page of resources. Next is empty on the last page.
type ConfigPage struct {
	Items []ConfigResource `json:"items"`
	Next  Cursor           `json:"next_cursor,omitempty"`
}

// ConfigRetention says which versions [Config.Prune] keeps. A version stays if
// any of these wants it.
type ConfigRetention struct {
	Kind        string        // empty means all kinds
	KeepLast    int           // of each resource, at least 1
	KeepYounger time.Duration // 0: age keeps nothing
	Protected   []ConfigPin   // versions that somebody outside refers to; hashes are not looked at
	DryRun      bool          // removes nothing and returns what it would
	Limit       int           // versions removed at most; 0 means [MaxSweep], which is also the greatest
}
