package storetest

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
)

// backupPromises are about writing a store out and making it again.
func backupPromises() []promise {
	return []promise{
		{"EverythingComesBack", "Backup: what was backed up and restored is in everything the same, for every tenant.", backupIsWhole},
		{"GenerationRises", "Backup.Restore: it raises the generation, so that positions of before are told from those of after.", backupRaises},
		{"OnlyIntoAnEmptyStore", "Backup.Restore: a store that is not empty already exists, and is left as it is.", backupNeedsRoom},
		{"DamageShows", "Backup.Restore: what is damaged or cut off is corrupt, and what is no backup is invalid.", backupDamage},
		{"AsOfOneMoment", "Backup.Backup: it is as of one moment, while others write.", backupOneMoment},
		{"FailuresAreTold", "Backup.Backup: errors of the writer are returned.", backupFailure},
	}
}

func (k *kit) backup() []byte {
	k.Helper()
	b, _ := selvage.As[selvage.Backup](k.store)
	var out bytes.Buffer
	report, err := b.Backup(k.Context(), &out, selvage.BackupOptions{})
	if err != nil {
		k.Fatalf("backup: %v", err)
	}
	if report.Items == 0 {
		k.Errorf("the backup of a store that keeps something says it has no items")
	}
	return out.Bytes()
}

func (k *kit) restore(data []byte) error {
	b, _ := selvage.As[selvage.Backup](k.store)
	_, err := b.Restore(k.Context(), bytes.NewReader(data), selvage.BackupOptions{})
	return err
}

func backupIsWhole(k *kit) {
	from := k.alone()
	ids := from.lived()
	acme := from.tenant("acme")
	theirs := acme.lived()
	outboxed := from.create(selvage.ChangeSet{Outbox: []selvage.OutboxEntry{{Lane: "mail", Target: "a", Payload: []byte(`"one"`)}, {Lane: "mail", Target: "b", Payload: []byte(`"two"`)}}})
	memory, _ := selvage.As[selvage.Memory](from.store)
	name := selvage.MemoryName{Owner: selvage.UserMemory("ann"), Namespace: "facts", Key: "colour"}
	if _, err := memory.Put(k.Context(), selvage.MemoryDraft{MemoryName: name, Value: []byte(`"blue"`)}, selvage.New()); err != nil {
		k.Fatal(err)
	}
	blobs, _ := selvage.As[selvage.Blobs](from.store)
	ref, err := blobs.Put(k.Context(), strings.NewReader("a picture"))
	if err != nil {
		k.Fatal(err)
	}
	pictured := from.create(selvage.ChangeSet{Messages: []selvage.Message{{Role: selvage.RoleUser, Content: selvage.Content{{Type: selvage.PartImage, Blob: ref.ID}}}}})
	ids = append(ids, outboxed, pictured)

	to := k.alone()
	if err := to.restore(from.backup()); err != nil {
		k.Fatalf("restore: %v", err)
	}
	for _, pair := range []struct {
		name     string
		from, to *kit
		ids      []selvage.ThreadID
	}{{"the store", from, to, ids}, {"the tenant", acme, to.tenant("acme"), theirs}} {
		if got, want := pair.to.view(pair.ids), pair.from.view(pair.ids); got != want {
			k.Errorf("%s came back as another: %s", pair.name, difference(got, want))
		}
	}
	memory, _ = selvage.As[selvage.Memory](to.store)
	if entry, err := memory.Get(k.Context(), name); err != nil || string(entry.Value) != `"blue"` {
		k.Errorf("the memory came back as %s, %v", entry.Value, err)
	}
	to.sameContent(ref.ID, "a picture")
	outbox, _ := selvage.As[selvage.Outbox](to.store)
	due, err := outbox.Claim(k.Context(), selvage.OutboxClaim{Lane: "mail", Limit: 10, Owner: "w", Lease: time.Minute})
	if err != nil || len(due) != 2 {
		k.Errorf("%d deliveries are due after the restoration (%v); want 2", len(due), err)
	}
	to.append(ids[0], says("it goes on"), selvage.Any())
	to.verify(to.log(ids[0]))
}

// sameContent checks what a blob holds.
func (k *kit) sameContent(id, want string) {
	k.Helper()
	blobs, _ := selvage.As[selvage.Blobs](k.store)
	r, err := blobs.Open(k.Context(), id)
	if err != nil {
		k.Errorf("open blob %s: %v", id, err)
		return
	}
	data, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil || string(data) != want {
		k.Errorf("blob %s holds %q (%v); want %q", id, data, err, want)
	}
}

func backupRaises(k *kit) {
	from, to := k.alone(), k.alone()
	from.create(says("one"))
	w, _ := selvage.As[selvage.Watcher](from.store)
	before, err := w.End(k.Context())
	if err != nil {
		k.Fatal(err)
	}
	if err := to.restore(from.backup()); err != nil {
		k.Fatal(err)
	}
	w, _ = selvage.As[selvage.Watcher](to.store)
	_, err = w.Feed(k.Context(), selvage.FeedQuery{After: before})
	k.class("the feed of the restored store from a position of before", err, selvage.ErrCursorExpired)
	if page, err := w.Feed(k.Context(), selvage.FeedQuery{}); err != nil || len(page.Items) != 1 {
		k.Errorf("the feed of the restored store has %d items, %v; want 1", len(page.Items), err)
	}
}

func backupNeedsRoom(k *kit) {
	from, to := k.alone(), k.alone()
	from.create(says("one"))
	id := to.create(says("two"))
	before := to.picture(id)
	k.class("restore into a store that is not empty", to.restore(from.backup()), selvage.ErrAlreadyExists)
	if after := to.picture(id); after != before {
		k.Errorf("a refused restoration left its mark: %s", difference(after, before))
	}
}

func backupDamage(k *kit) {
	from := k.alone()
	from.lived()
	data := from.backup()
	bent := bytes.Clone(data)
	bent[len(bent)/2] ^= 1
	for name, tt := range map[string]struct {
		data []byte
		want error
	}{
		"nothing":              {nil, selvage.ErrInvalid},
		"something else":       {[]byte("hello"), selvage.ErrInvalid},
		"a backup cut off":     {data[:len(data)*2/3], selvage.ErrCorrupt},
		"a backup but its end": {data[:len(data)-1], selvage.ErrCorrupt},
		"another byte":         {bent, selvage.ErrCorrupt},
	} {
		k.class("restore "+name, k.alone().restore(tt.data), tt.want)
	}
}

func backupOneMoment(k *kit) {
	from := k.alone()
	a, b := from.create(says("a")), from.create(says("b"))
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		// b never has more changes than a at any moment, nor two fewer.
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			for _, id := range []selvage.ThreadID{a, b} {
				if _, err := from.store.Append(k.Context(), id, says("more"), selvage.Any()); err != nil {
					done <- err
					return
				}
			}
		}
	}()
	var backups [][]byte
	for range 3 {
		backups = append(backups, from.backup())
	}
	close(stop)
	if err := <-done; err != nil {
		k.Fatal(err)
	}
	for _, data := range backups {
		to := k.alone()
		if err := to.restore(data); err != nil {
			k.Fatal(err)
		}
		if x, y := to.load(a).Thread.Version, to.load(b).Thread.Version; x != y && x != y+1 {
			k.Errorf("in the backup one thread is at version %d and the other at %d, which never was", x, y)
		}
	}
}

// fullWriter takes a few bytes and then fails.
type fullWriter struct{ left int }

var errFull = errors.New("the tape is full")

func (w *fullWriter) Write(p []byte) (int, error) {
	if len(p) > w.left {
		return 0, errFull
	}
	w.left -= len(p)
	return len(p), nil
}

func backupFailure(k *kit) {
	from := k.alone()
	from.lived()
	b, _ := selvage.As[selvage.Backup](from.store)
	if _, err := b.Backup(k.Context(), &fullWriter{left: 100}, selvage.BackupOptions{}); !errors.Is(err, errFull) {
		k.Errorf("backup to a writer that fails returned %v; want its error", err)
	}
	from.backup()
}
