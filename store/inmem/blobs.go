package inmem

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// blob is content and when it was last put.
type blob struct {
	content []byte
	put     time.Time
}

// blobs is the capability [selvage.Blobs] of a store. Who refers to a blob is
// looked for in the logs when somebody wants to know.
type blobs struct{ s *Store }

var _ selvage.Blobs = blobs{}

// Put implements [selvage.Blobs].
func (b blobs) Put(ctx context.Context, r io.Reader) (selvage.BlobRef, error) {
	content, err := commit.ReadBlob(ctx, r)
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	if closed := b.s.enter(ctx); closed != nil {
		err = closed
	}
	if err != nil {
		return selvage.BlobRef{}, fmt.Errorf("put a blob: %w", err)
	}
	ref := selvage.BlobRef{ID: selvage.BlobID(content), Size: int64(len(content))}
	id, err := selvage.ParseBlobID(ref.ID)
	if err == nil {
		b.s.blobs[id] = &blob{content, b.s.now()}
	}
	return ref, err
}

// find returns a blob. The store must be locked.
func (b blobs) find(ctx context.Context, id string) (*blob, selvage.Hash, error) {
	if err := b.s.enter(ctx); err != nil {
		return nil, selvage.Hash{}, err
	}
	h, err := selvage.ParseBlobID(id)
	if err != nil {
		return nil, h, err
	}
	found := b.s.blobs[h]
	if found == nil {
		return nil, h, commit.ErrNoBlob
	}
	return found, h, nil
}

// Open implements [selvage.Blobs].
func (b blobs) Open(ctx context.Context, id string) (io.ReadCloser, error) {
	b.s.mu.RLock()
	defer b.s.mu.RUnlock()
	found, _, err := b.find(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("open blob %q: %w", id, err)
	}
	return commit.OpenBlob(id, found.content)
}

// Stat implements [selvage.Blobs].
func (b blobs) Stat(ctx context.Context, id string) (selvage.BlobInfo, error) {
	b.s.mu.RLock()
	defer b.s.mu.RUnlock()
	found, h, err := b.find(ctx, id)
	var refs map[selvage.Hash]int
	if err == nil {
		refs, err = b.s.space.references()
	}
	if err != nil {
		return selvage.BlobInfo{}, fmt.Errorf("stat blob %q: %w", id, err)
	}
	return selvage.BlobInfo{BlobRef: selvage.BlobRef{ID: id, Size: int64(len(found.content))},
		PutAt: found.put.UTC().Truncate(selvage.TimePrecision), References: refs[h]}, nil
}

// references counts the changes that refer to each blob.
func (s *space) references() (map[selvage.Hash]int, error) {
	refs := make(map[selvage.Hash]int)
	for _, t := range s.threads {
		for i := range t.log {
			ids, err := commit.BlobsOf(&t.log[i])
			if err != nil {
				return nil, err
			}
			for _, id := range ids {
				refs[id]++
			}
		}
	}
	return refs, nil
}

// Collect implements [selvage.Blobs].
func (b blobs) Collect(ctx context.Context, req selvage.BlobCollect) (report selvage.BlobReport, err error) {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	err = b.s.enter(ctx)
	var grace time.Duration
	if err == nil {
		grace, err = commit.Grace(req)
	}
	if err != nil {
		return report, fmt.Errorf("collect blobs: %w", err)
	}
	before := b.s.now().Add(-grace)
	for name, space := range b.s.spaces {
		if b.s.tenant != "" && name != b.s.tenant {
			continue
		}
		refs, err := space.references()
		if err != nil {
			return report, fmt.Errorf("collect blobs: %w", err)
		}
		for id, found := range space.blobs {
			if refs[id] > 0 || found.put.After(before) {
				continue
			}
			report.Blobs, report.Bytes = report.Blobs+1, report.Bytes+int64(len(found.content))
			if !req.DryRun {
				delete(space.blobs, id)
			}
		}
	}
	return report, nil
}
