package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
)

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
