package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
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

func collectKeepsWhatIsUsed(k *kit) {
	k = k.alone()
	used, unused := k.putNew(), k.put([]byte("unused"))
	id := k.create(showing(shows("m", used.ID)))
	k.tick()
	if r, err := k.blobs().Collect(k.Context(), selvage.BlobCollect{}); err != nil || r.Blobs != 0 || !k.there(unused.ID) {
		k.Errorf("a collection with the grace of a day deleted %d new blobs (%v)", r.Blobs, err)
	}
	k.equal("what a dry run finds", k.collect(0, true), selvage.BlobReport{Blobs: 1, Bytes: 6})
	if !k.there(unused.ID) {
		k.Errorf("a dry run deleted a blob")
	}
	k.equal("what was collected", k.collect(0, false), selvage.BlobReport{Blobs: 1, Bytes: 6})
	if k.there(unused.ID) || !k.there(used.ID) {
		k.Errorf("after a collection what nothing refers to is there: %v, what a message refers to: %v", k.there(unused.ID), k.there(used.ID))
	}
	k.equal("what was collected again", k.collect(0, false), selvage.BlobReport{})
	k.refuseField(id, showing(shows("", unused.ID)), selvage.Any(), "messages[0].content[1].blob")
	for i := range 40 { // more than one transaction's
		k.put([]byte(fmt.Sprint("many ", i)))
	}
	k.tick()
	if r := k.collect(0, false); r.Blobs != 40 || !k.there(used.ID) {
		k.Errorf("of 40 unused blobs %d were collected", r.Blobs)
	}
}

func deletedAndErasedLetGo(k *kit) {
	k = k.alone()
	both, deleted, erased, hidden := k.putNew(), k.putNew(), k.putNew(), k.putNew()
	doomed := k.create(showing(shows("", both.ID), shows("", deleted.ID)))
	id := k.create(showing(shows("m-1", both.ID), shows("m-2", erased.ID)), showing(shows("m-3", hidden.ID)))
	_, err := k.store.Append(k.Context(), id, selvage.ChangeSet{Rewind: ptr(selvage.Version(1))}, selvage.Any())
	if err != nil && !errors.Is(err, selvage.ErrUnsupported) {
		k.Fatalf("rewind failed: %v", err)
	}
	if forker, ok := selvage.As[selvage.Forker](k.store); ok { // which refers to what its origin did
		if _, err := forker.Fork(k.Context(), selvage.ForkRequest{From: doomed, To: newID()}); err != nil {
			k.Fatalf("fork failed: %v", err)
		}
		k.delete(doomed, selvage.DeleteReject)
		k.tick()
		k.collect(0, false)
		if !k.there(deleted.ID) {
			k.Errorf("a fork refers to a blob that was collected after its origin was deleted")
		}
		forks := k.threads(selvage.ThreadQuery{})
		doomed = forks[slices.IndexFunc(forks, func(t selvage.Thread) bool { return t.ForkedFrom != nil })].ID
	}
	k.delete(doomed, selvage.DeleteReject)
	k.tick()
	k.collect(0, false)
	if k.there(deleted.ID) || !k.there(both.ID) || !k.there(erased.ID) || !k.there(hidden.ID) {
		k.Errorf("after a thread was deleted its blob is there: %v; that of others: %v, %v, that of a hidden message: %v",
			k.there(deleted.ID), k.there(both.ID), k.there(erased.ID), k.there(hidden.ID))
	}
	eraser, ok := selvage.As[selvage.Eraser](k.store)
	if !ok {
		return
	}
	if _, err := eraser.Erase(k.Context(), id, selvage.EraseRequest{Messages: []string{"m-2"}}); err != nil {
		k.Fatalf("erase failed: %v", err)
	}
	k.collect(0, false)
	if k.there(erased.ID) || !k.there(both.ID) || !k.there(hidden.ID) {
		k.Errorf("after a message was erased its blob is there: %v; that of its neighbours: %v, %v", k.there(erased.ID), k.there(both.ID), k.there(hidden.ID))
	}
}

func putAgainIsNew(k *kit) {
	k = k.alone()
	first := k.put([]byte("again"))
	before, err := k.blobs().Stat(k.Context(), first.ID)
	if err != nil {
		k.Fatalf("stat failed: %v", err)
	}
	k.tick()
	k.put([]byte("again"))
	if after, err := k.blobs().Stat(k.Context(), first.ID); err != nil || !after.PutAt.After(before.PutAt) {
		k.Errorf("put at %v and again, a blob says %v (%v)", before.PutAt, after.PutAt, err)
	}
	if r := k.collect(time.Minute, false); r.Blobs != 0 {
		k.Errorf("a blob that was just put again was collected")
	}
}

func collectRaces(k *kit) {
	k = k.alone()
	const writers, each = 4, 12
	done := make(chan struct{})
	collected := make(chan error, 1)
	go func() {
		var err error
		for err == nil {
			select {
			case <-done:
				collected <- nil
				return
			default:
				_, err = k.blobs().Collect(k.Context(), selvage.BlobCollect{Grace: ptr(time.Duration(0))})
			}
		}
		collected <- err
	}()
	blobs := make([][]string, writers)
	errs := together(writers, func(w int) error {
		id := newID()
		pre := selvage.New()
		for n := range each {
			ref, err := k.blobs().Put(k.Context(), strings.NewReader(fmt.Sprint(w, n)))
			if err != nil {
				return err
			}
			switch _, err := k.store.Append(k.Context(), id, showing(shows("", ref.ID)), pre); {
			case err == nil:
				blobs[w], pre = append(blobs[w], ref.ID), selvage.Any()
			case !errors.Is(err, selvage.ErrInvalid): // which says that it was collected first
				return err
			}
		}
		return nil
	})
	close(done)
	if err := <-collected; err != nil {
		k.Errorf("collect failed: %v", err)
	}
	k.noErrors(errs)
	for _, some := range blobs {
		for _, id := range some {
			if !k.there(id) {
				k.Errorf("a message refers to %s, which was collected", id)
			}
		}
	}
}

func tenantsKeepBlobs(k *kit) {
	if _, ok := selvage.As[selvage.Tenancy](k.store); !ok {
		return // a tenant's own store has no tenants
	}
	k = k.alone()
	acme, other := k.tenant("acme"), k.tenant("other")
	ref := acme.put([]byte("of acme"))
	if k.there(ref.ID) || other.there(ref.ID) {
		k.Errorf("a tenant's blob is there for others")
	}
	other.refuseField(newID(), showing(shows("", ref.ID)), selvage.New(), "messages[0].content[1].blob")
	other.put([]byte("of acme"))
	kept := k.putNew()
	id := newID()
	k.append(id, showing(shows("", kept.ID)), selvage.New())
	other.append(id, says("a namesake that refers to nothing"), selvage.New())
	k.tick()
	if r := other.collect(0, false); r.Blobs != 1 || !acme.there(ref.ID) || other.there(ref.ID) {
		k.Errorf("a tenant's collection deleted %d blobs; want its own one", r.Blobs)
	}
	if r := k.collect(0, false); r.Blobs != 1 || acme.there(ref.ID) || !k.there(kept.ID) {
		k.Errorf("the collection of all tenants deleted %d blobs; want the one that is left", r.Blobs)
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
