package storetest

import (
	"bytes"
	"context"
	"io"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
)

// A faulty store is one of Blobs by these methods.

func (f *faulty) Put(ctx context.Context, r io.Reader) (selvage.BlobRef, error) {
	return f.attic.Put(ctx, r)
}

func (f *faulty) Open(ctx context.Context, id string) (io.ReadCloser, error) {
	return f.attic.Open(ctx, id)
}

func (f *faulty) Stat(ctx context.Context, id string) (selvage.BlobInfo, error) {
	return f.attic.Stat(ctx, id)
}

func (f *faulty) Collect(ctx context.Context, req selvage.BlobCollect) (selvage.BlobReport, error) {
	return f.attic.Collect(ctx, req)
}

// badAttic is a store of blobs some of whose methods are replaced.
type badAttic struct {
	selvage.Blobs
	put     func(context.Context, io.Reader) (selvage.BlobRef, error)
	open    func(context.Context, string) (io.ReadCloser, error)
	stat    func(context.Context, string) (selvage.BlobInfo, error)
	collect func(context.Context, selvage.BlobCollect) (selvage.BlobReport, error)
}

func (b *badAttic) Put(ctx context.Context, r io.Reader) (selvage.BlobRef, error) {
	return b.put(ctx, r)
}

func (b *badAttic) Open(ctx context.Context, id string) (io.ReadCloser, error) {
	return b.open(ctx, id)
}

func (b *badAttic) Stat(ctx context.Context, id string) (selvage.BlobInfo, error) {
	return b.stat(ctx, id)
}

func (b *badAttic) Collect(ctx context.Context, req selvage.BlobCollect) (selvage.BlobReport, error) {
	return b.collect(ctx, req)
}

// onBlobs plants a fault in what is done with blobs.
func onBlobs(change func(f *faulty, sound selvage.Blobs, b *badAttic)) func(*faulty) {
	return func(f *faulty) {
		sound := f.attic
		b := &badAttic{sound, sound.Put, sound.Open, sound.Stat, sound.Collect}
		f.attic = b
		change(f, sound, b)
	}
}

// onCollect plants a fault in what is collected.
func onCollect(change func(*selvage.BlobCollect)) func(*faulty) {
	return onBlobs(func(_ *faulty, sound selvage.Blobs, b *badAttic) {
		b.collect = func(ctx context.Context, req selvage.BlobCollect) (selvage.BlobReport, error) {
			change(&req)
			return sound.Collect(ctx, req)
		}
	})
}

func blobFaults() []fault {
	none := time.Duration(0)
	return []fault{
		{"cuts blobs", onBlobs(func(_ *faulty, sound selvage.Blobs, b *badAttic) {
			b.open = func(ctx context.Context, id string) (io.ReadCloser, error) {
				r, err := sound.Open(ctx, id)
				if err != nil {
					return nil, err
				}
				return io.NopCloser(io.LimitReader(r, 1000)), nil
			}
		}), []string{"Blobs/WhatIsPutIsThere"}},
		{"keeps what it could read of a blob", onBlobs(func(_ *faulty, sound selvage.Blobs, b *badAttic) {
			b.put = func(ctx context.Context, r io.Reader) (selvage.BlobRef, error) {
				content, err := io.ReadAll(io.LimitReader(r, selvage.MaxBlobBytes))
				if _, putErr := sound.Put(context.WithoutCancel(ctx), bytes.NewReader(content)); putErr != nil {
					return selvage.BlobRef{}, putErr
				}
				return selvage.BlobRef{ID: selvage.BlobID(content), Size: int64(len(content))}, err
			}
		}), []string{"Blobs/BadContent"}},
		{"opens by what the id begins with", onBlobs(func(_ *faulty, sound selvage.Blobs, b *badAttic) {
			b.open = func(ctx context.Context, id string) (io.ReadCloser, error) {
				return sound.Open(ctx, strings.ToLower(id)[:min(len(id), 71)])
			}
		}), []string{"Blobs/BadIDs"}},
		{"does not look for blobs", onAppend(func(next appendFunc) appendFunc {
			return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
				for i := range set.Messages {
					for j, p := range set.Messages[i].Content {
						if strings.HasPrefix(p.Blob, selvage.BlobScheme) {
							set.Messages[i].Content[j].Blob = "elsewhere:" + p.Blob
						}
					}
				}
				return next(ctx, id, set, pre)
			}
		}), []string{"Blobs/MessagesReferToWhatIsThere", "Blobs/CollectKeepsWhatIsUsed", "Blobs/DeletedAndErasedLetGo", "Blobs/CollectRaces"}},
		{"knows no grace", onCollect(func(req *selvage.BlobCollect) { req.Grace = &none }), []string{"Blobs/CollectKeepsWhatIsUsed", "Blobs/PutAgainIsNew", "Blobs/BadIDs"}},
		{"collects in a dry run", onCollect(func(req *selvage.BlobCollect) { req.DryRun = false }), []string{"Blobs/CollectKeepsWhatIsUsed"}},
		{"collects nothing", onCollect(func(req *selvage.BlobCollect) { req.DryRun = true }), []string{"Blobs/CollectKeepsWhatIsUsed", "Blobs/DeletedAndErasedLetGo", "Blobs/TenantsKeepTheirs"}},
		{"does not count who refers to a blob", onBlobs(func(_ *faulty, sound selvage.Blobs, b *badAttic) {
			b.stat = func(ctx context.Context, id string) (selvage.BlobInfo, error) {
				info, err := sound.Stat(ctx, id)
				info.References = 0
				return info, err
			}
		}), []string{"Blobs/MessagesReferToWhatIsThere"}},
		{"does not put what is there", onBlobs(func(_ *faulty, sound selvage.Blobs, b *badAttic) {
			b.put = func(ctx context.Context, r io.Reader) (selvage.BlobRef, error) {
				content, err := io.ReadAll(r)
				if err != nil {
					return selvage.BlobRef{}, err
				}
				if info, err := sound.Stat(ctx, selvage.BlobID(content)); err == nil {
					return info.BlobRef, nil
				}
				return sound.Put(ctx, bytes.NewReader(content))
			}
		}), []string{"Blobs/PutAgainIsNew"}},
		{"keeps the blobs of all tenants together", onTenant(func(root *faulty, next tenantFunc) tenantFunc {
			return func(name string) (selvage.Store, error) {
				s, err := next(name)
				if err != nil {
					return nil, err
				}
				f := flawless(s.(sound))
				f.attic = root.attic
				return f, nil
			}
		}), []string{"Blobs/TenantsKeepTheirs"}},
	}
}
