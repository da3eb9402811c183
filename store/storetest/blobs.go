package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing/iotest"
	"time"

	"github.com/selvagehq/selvage"
)

func blobPromises() []promise {
	return []promise{
		{"WhatIsPutIsThere", "Blobs.Put: content of any size is there, byte for byte, under its digest.", whatIsPutIsThere},
		{"KeptOnce", "Blobs.Put: content that is there already is not kept twice, however many put it at once.", keptOnce},
		{"BadContent", "Blobs.Put: what exceeds the bound is too_large, and what cannot be read leaves nothing.", badBlobContent},
		{"BadIDs", "Blobs.Open: a blob that is not there is not_found, an id that is none is invalid.", badBlobIDs},
		{"MessagesReferToWhatIsThere", "Part.Blob: a blob that a message refers to is there; the set is refused by field if not. Other references are the caller's.", messagesReferToBlobs},
		{"CollectKeepsWhatIsUsed", "Blobs.Collect: it deletes what no message refers to and is older than the grace, and nothing else.", collectKeepsWhatIsUsed},
		{"DeletedAndErasedLetGo", "Blobs.Collect: a message of a deleted thread and one that was erased refer to nothing; one that a rewind hid still does.", deletedAndErasedLetGo},
		{"PutAgainIsNew", "Blobs.Put: content that is put again counts as new for Collect.", putAgainIsNew},
		{"CollectRaces", "Blobs.Collect: it never deletes what an append of the same moment refers to.", collectRaces},
		{"TenantsKeepTheirs", "Blobs: they are a tenant's own; the store that was opened collects those of all.", tenantsKeepBlobs},
		{"OutliveTheStore", "Blobs: they are stored, with what refers to them.", blobsOutlive},
		{"Closed", "Store: after Close every method matches closed.", blobsClosed},
	}
}

func (k *kit) blobs() selvage.Blobs {
	k.Helper()
	b, ok := selvage.As[selvage.Blobs](k.store)
	if !ok {
		k.Fatalf("a %T offers no Blobs", k.store)
	}
	return b
}

func (k *kit) put(content []byte) selvage.BlobRef {
	k.Helper()
	ref, err := k.blobs().Put(k.Context(), bytes.NewReader(content))
	if err != nil {
		k.Fatalf("put %d bytes failed: %v", len(content), err)
	}
	if ref.ID != selvage.BlobID(content) || ref.Size != int64(len(content)) {
		k.Errorf("%d bytes were put as %s; want %s", len(content), encode(k, ref), selvage.BlobID(content))
	}
	return ref
}

// putNew puts content that nobody else has.
func (k *kit) putNew() selvage.BlobRef {
	k.Helper()
	return k.put([]byte(selvage.NewID()))
}

// there reports whether a blob can be opened and is what was put.
func (k *kit) there(id string) bool {
	k.Helper()
	r, err := k.blobs().Open(k.Context(), id)
	if errors.Is(err, selvage.ErrNotFound) {
		return false
	}
	if err != nil {
		k.Fatalf("open %s failed: %v", id, err)
	}
	content, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil || selvage.BlobID(content) != id {
		k.Errorf("read %s: %d bytes that are not it, %v", id, len(content), err)
	}
	return true
}

// collect collects what is older than a grace, in a store of the test's own.
func (k *kit) collect(grace time.Duration, dry bool) selvage.BlobReport {
	k.Helper()
	report, err := k.blobs().Collect(k.Context(), selvage.BlobCollect{Grace: &grace, DryRun: dry})
	if err != nil {
		k.Fatalf("collect failed: %v", err)
	}
	return report
}

// shows is a message that refers to a blob.
func shows(id, blob string) selvage.Message {
	return selvage.Message{ID: id, Role: selvage.RoleUser, Content: selvage.Content{{Type: selvage.PartText, Text: "look"},
		{Type: selvage.PartImage, MediaType: "image/png", Blob: blob}}}
}

func showing(messages ...selvage.Message) selvage.ChangeSet {
	return selvage.ChangeSet{Messages: messages}
}

func whatIsPutIsThere(k *kit) {
	const chunk = 256 << 10
	unit := []byte("0123456789abcdef\x00\xff")
	for _, size := range []int{0, 1, chunk - 1, chunk, chunk + 1, 2*chunk + 7, 1 << 21} {
		content := bytes.Repeat(unit, size/len(unit)+1)[:size]
		ref := k.put(content)
		r, err := k.blobs().Open(k.Context(), ref.ID)
		if err != nil {
			k.Fatalf("open what was put (%d bytes) failed: %v", size, err)
		}
		got, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil || !bytes.Equal(got, content) {
			k.Errorf("%d bytes were put and %d others read (%v)", size, len(got), err)
		}
		info, err := k.blobs().Stat(k.Context(), ref.ID)
		if err != nil || info.BlobRef != ref || info.References != 0 {
			k.Errorf("stat of %d bytes answers %s, %v", size, encode(k, info), err)
		}
		k.isStored("when a blob was put", info.PutAt)
	}
}

func keptOnce(k *kit) {
	k = k.alone()
	content := []byte(strings.Repeat("x", 1000))
	refs := make([]selvage.BlobRef, 8)
	k.noErrors(together(len(refs), func(i int) (err error) {
		// A reader may yield a byte at a time.
		refs[i], err = k.blobs().Put(k.Context(), iotest.OneByteReader(bytes.NewReader(content)))
		return err
	}))
	for _, ref := range refs {
		k.equal("what it was put as", ref, refs[0])
	}
	k.tick()
	if r := k.collect(0, true); r.Blobs != 1 || r.Bytes != 1000 {
		k.Errorf("after %d puts of the same there are %d blobs of %d bytes; want one of 1000", len(refs), r.Blobs, r.Bytes)
	}
}

func badBlobContent(k *kit) {
	k = k.alone()
	broken := errors.New("broken")
	put := func(r io.Reader) error { return errorOf(k.blobs().Put(k.Context(), r)) }
	if err := put(io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		k.Errorf("put from a reader that breaks answers %v; want its error", err)
	}
	k.class("put of too much", put(io.LimitReader(zeros{}, selvage.MaxBlobBytes+1)), selvage.ErrTooLarge)
	ctx, cancel := context.WithCancel(k.Context())
	cancel()
	if err := errorOf(k.blobs().Put(ctx, strings.NewReader("late"))); !errors.Is(err, context.Canceled) {
		k.Errorf("put after its context ended answers %v; want the context's error", err)
	}
	k.tick()
	if r := k.collect(0, true); r.Blobs != 0 {
		k.Errorf("what could not be put left %d blobs", r.Blobs)
	}
}

// zeros yields zeros without end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func badBlobIDs(k *kit) {
	missing := selvage.BlobID([]byte(selvage.NewID()))
	for _, c := range []struct {
		id   string
		want error
	}{{missing, selvage.ErrNotFound}, {"", selvage.ErrInvalid}, {"sha256:", selvage.ErrInvalid}, {strings.ToUpper(missing), selvage.ErrInvalid},
		{strings.TrimPrefix(missing, "sha256:"), selvage.ErrInvalid}, {missing + "0", selvage.ErrInvalid}, {"sha256:" + strings.ToUpper(missing[7:]) + "Z", selvage.ErrInvalid}} {
		k.class(fmt.Sprintf("open %q", c.id), errorOf(k.blobs().Open(k.Context(), c.id)), c.want)
		k.class(fmt.Sprintf("stat %q", c.id), errorOf(k.blobs().Stat(k.Context(), c.id)), c.want)
	}
	k.class("collect with a negative grace", errorOf(k.blobs().Collect(k.Context(), selvage.BlobCollect{Grace: ptr(-time.Second)})), selvage.ErrInvalid)
}

func messagesReferToBlobs(k *kit) {
	ref, missing := k.putNew(), selvage.BlobID([]byte(selvage.NewID()))
	id := k.create(showing(shows("m-1", ref.ID), shows("m-2", ref.ID)))
	k.refuseField(id, showing(shows("", ref.ID), shows("", missing)), selvage.Any(), "messages[1].content[1].blob")
	k.refuseField(newID(), showing(shows("", missing)), selvage.New(), "messages[0].content[1].blob")
	for _, bad := range []string{"sha256:", "sha256:00", ref.ID + "0", "sha256:" + strings.ToUpper(ref.ID[7:]) + "G"} {
		k.refuseField(id, showing(shows("", bad)), selvage.Any(), "messages[0].content[1].blob")
	}
	k.append(id, showing(shows("m-3", "https://example.com/a.png"), shows("m-4", strings.TrimPrefix(missing, "sha256:"))), selvage.Any())
	k.append(id, showing(shows("m-1", missing), say("", "m-1 is known, and dropped")), selvage.Any())
	set := showing(shows("", ref.ID))
	set.ID = "set-1"
	k.replay(id, set, selvage.Any(), k.append(id, set, selvage.Any()))
	info, err := k.blobs().Stat(k.Context(), ref.ID)
	if err != nil || info.References != 2 {
		k.Errorf("two changes refer to a blob, and stat says %d (%v)", info.References, err)
	}
	if m := k.load(id).Messages; m[0].Content[1].Blob != ref.ID {
		k.Errorf("a message refers to %q; want %q", m[0].Content[1].Blob, ref.ID)
	}
}

func blobsOutlive(k *kit) {
	if k.reopen == nil {
		return // nothing outlives such a store
	}
	k = k.alone()
	used, unused := k.putNew(), k.putNew()
	k.create(showing(shows("", used.ID)))
	k = k.on(k.reopen(k.store))
	if !k.there(used.ID) || !k.there(unused.ID) {
		k.Errorf("after the store was opened again blobs are there: %v, %v", k.there(used.ID), k.there(unused.ID))
	}
	k.tick()
	if r := k.collect(0, false); r.Blobs != 1 || !k.there(used.ID) {
		k.Errorf("after the store was opened again %d blobs were collected; want the one nothing refers to", r.Blobs)
	}
}

func blobsClosed(k *kit) {
	k = k.alone()
	b, ctx, id := k.blobs(), k.Context(), selvage.BlobID(nil)
	if err := k.store.Close(); err != nil {
		k.Fatalf("close failed: %v", err)
	}
	for what, err := range map[string]error{
		"put": errorOf(b.Put(ctx, strings.NewReader("x"))), "open": errorOf(b.Open(ctx, id)), "stat": errorOf(b.Stat(ctx, id)),
		"collect": errorOf(b.Collect(ctx, selvage.BlobCollect{})),
	} {
		k.class(what, err, selvage.ErrClosed)
	}
}
