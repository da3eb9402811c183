package commit

import (
	"fmt"

	"github.com/selvagehq/selvage"
)

// Imported is a change that was written by another store, and what it does to
// a thread here.
type Imported struct {
	Set  selvage.ChangeSet
	Plan *Plan
}

// Import works out what a change of another store's log does after h. Its
// version must be the one after h; a tombstone may come at any later one. A
// parent that it names need not be there. Errors match those of
// [selvage.Importer].
func Import(h *Head, c *selvage.Change, rd Reader) (*Imported, error) {
	if c.Reason == selvage.ReasonDeleted {
		return importTombstone(h, c)
	}
	if c.Version != h.Thread.Version+1 {
		return nil, &selvage.ConflictError{Thread: c.ThreadID, Expected: c.Version - 1, Actual: h.Thread.Version}
	}
	if err := c.Verify(h.Hash); err != nil {
		return nil, err
	}
	set, err := c.Set()
	if err != nil {
		return nil, err
	}
	if err := foreign(&set, c.ThreadID, rd); err != nil {
		return nil, err
	}
	p, err := Again(h, c, orphans{rd})
	if err != nil {
		return nil, err
	}
	p.Outbox = nil // the store it comes from delivers
	return &Imported{set, p}, nil
}

// foreign refuses runs that another thread of the tenant has.
func foreign(set *selvage.ChangeSet, id selvage.ThreadID, rd Reader) error {
	for i := range set.Runs {
		run, err := rd.Run(set.Runs[i].ID)
		if err != nil {
			return err
		}
		if run != nil && run.ThreadID != id {
			return fmt.Errorf("run %q is one of thread %q here, and ids of runs are unique: %w", run.ID, run.ThreadID, selvage.ErrAlreadyExists)
		}
	}
	return nil
}

// importTombstone plans the end of a thread as another store wrote it.
func importTombstone(h *Head, c *selvage.Change) (*Imported, error) {
	switch {
	case h.Thread.Version >= c.Version:
		return nil, &selvage.ConflictError{Thread: c.ThreadID, Expected: c.Version - 1, Actual: h.Thread.Version}
	case h.Exists() && h.Thread.Version == c.Version-1 && h.Hash != c.Prev:
		return nil, &selvage.CorruptError{Thread: c.ThreadID, Version: c.Version, Reason: "it does not follow the change before it"}
	}
	if err := c.Verify(c.Prev); err != nil {
		return nil, err
	}
	p := &Plan{Change: *c, Next: Head{Deleted: true, Hash: c.Hash, NextSeq: c.FirstSeq, Epoch: h.Epoch + 1,
		Thread: selvage.Thread{ID: c.ThreadID, Tenant: h.Thread.Tenant, Version: c.Version, CreatedAt: h.Thread.CreatedAt, UpdatedAt: c.At}}}
	if !h.Exists() {
		p.Next.Thread.CreatedAt = c.At
	}
	set := selvage.ChangeSet{ID: c.ID, Reason: c.Reason}
	p.Receipt = receiptOf(c, &set)
	return &Imported{set, p}, nil
}

// orphans takes a parent that is not there for a root: in the order of a copy
// it may come later, or have been deleted since. It knows of no deliveries,
// because none are asked for.
type orphans struct{ Reader }

func (orphans) Delivery([]byte) ([]byte, error) { return nil, nil }

func (o orphans) Parent(id selvage.ThreadID) (selvage.ThreadID, bool, error) {
	parent, exists, err := o.Reader.Parent(id)
	if err == nil && !exists {
		return "", true, nil
	}
	return parent, true, err
}

// CheckImport reports whether changes may be one after the other in a log.
func CheckImport(id selvage.ThreadID, changes []selvage.Change) error {
	if err := CheckThreadID(id); err != nil {
		return err
	}
	for i := 1; i < len(changes); i++ {
		if changes[i].Version != changes[i-1].Version+1 {
			return invalid(fmt.Sprintf("changes[%d]", i), "version %d follows version %d; a log has no gaps", changes[i].Version, changes[i-1].Version)
		}
	}
	return nil
}

// Same reports whether a change that is to be imported is the one that is
// there: nil if it is, else an error matching [selvage.ErrAlreadyExists].
func Same(there, c *selvage.Change) error {
	if there.Hash == c.Hash {
		return nil
	}
	return fmt.Errorf("thread %q has another change at version %d; import under another id: %w", c.ThreadID, c.Version, selvage.ErrAlreadyExists)
}
