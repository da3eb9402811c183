package selvage

import (
	"context"
	"time"
)

// Publications bind versions of several resources of a [Config] together, so
// that what refers to each other changes at one moment. A publication is never
// changed or removed, and keeps its versions from being pruned. They are found
// with [As].
type Publications interface {
	// Publish publishes resources and binds the versions that come of it, with
	// those it pins, in one transaction. A value equal to the current one
	// binds that version. An id that is taken matches [ErrAlreadyExists], a
	// pin that is not there [ErrNotFound], and nothing was written.
	Publish(ctx context.Context, d PublicationDraft) (Publication, error)

	// Rollback makes a new publication, under a new id, of what an older one
	// bound: every resource whose current version differs gets a new version
	// with the older value. RestoredFrom names the older one.
	Rollback(ctx context.Context, id, to string) (Publication, error)

	// Publication returns one of that id, the newest for "", or an error
	// matching [ErrNotFound].
	Publication(ctx context.Context, id string) (Publication, error)

	// List returns a page of publications, newest first.
	List(ctx context.Context, q PublicationQuery) (PublicationPage, error)
}

// MaxPublication bounds the resources and pins of one publication.
const MaxPublication = 200

// PublicationDraft is a publication to make. A resource is named once in it.
type PublicationDraft struct {
	ID        string // empty means that the store makes one
	Resources []ConfigDraft
	Pins      []ConfigPin // version 0 means the current one; a hash that is given must be right
}

// Publication is versions that belong together, by kind and id.
type Publication struct {
	ID           string      `json:"id"`
	Number       int64       `json:"number"` // from 1, dense, in the order they were made
	Pins         []ConfigPin `json:"pins"`
	RestoredFrom string      `json:"restored_from,omitempty"`
	CreatedAt    time.Time   `json:"created_at"`
}

// PublicationQuery selects publications.
type PublicationQuery struct {
	Limit  *int // see [PageLimit]
	Cursor Cursor
}

// PublicationPage is one page of publications. Next is empty on the last page.
type PublicationPage struct {
	Items []Publication `json:"items"`
	Next  Cursor        `json:"next_cursor,omitempty"`
}
