package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

// inFiles reports in which of the database's files a text stands.
func inFiles(t *testing.T, path, text string) (found []string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		data, err := os.ReadFile(path + suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte(text)) {
			found = append(found, "database"+suffix)
		}
	}
	return found
}

func erase(t *testing.T, s *sqlite.Store, id selvage.ThreadID, messages ...string) {
	t.Helper()
	e, ok := selvage.As[selvage.Eraser](s)
	if !ok {
		t.Fatal("the store is no Eraser")
	}
	if _, err := e.Erase(t.Context(), id, selvage.EraseRequest{Messages: messages}); err != nil {
		t.Fatal(err)
	}
}

// tell appends a message that tells a secret, among others that do not.
func tell(t *testing.T, s *sqlite.Store, id selvage.ThreadID, name, secret string, size int) {
	t.Helper()
	set := say("harmless")
	set.Messages = append(set.Messages, selvage.Message{ID: name, Role: selvage.RoleUser,
		Content: selvage.Text(strings.Repeat(secret+" ", max(1, size/len(secret))))})
	appendTo(t, s, id, set, selvage.Any())
}

// TestErasedBytesGo looks for erased content in the files themselves: of
// messages within a page, over many pages, in the log and in the database.
func TestErasedBytesGo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	s := open(t, path, sqlite.Options{})
	t.Cleanup(func() { _ = s.Close() })
	appendTo(t, s, "t", say("hello"), selvage.New())
	var names []string
	for i, size := range []int{10, 1000, 3500, 5000, 100_000, 600} {
		names = append(names, fmt.Sprintf("m-%d", i))
		tell(t, s, "t", names[i], fmt.Sprintf("secret-%d", i), size)
		if i == 3 {
			s.RestNow() // what was said so far is in the database by now
		}
	}
	for range 200 {
		appendTo(t, s, "t", say(strings.Repeat("others go on ", 50)), selvage.Any())
	}
	if len(inFiles(t, path, "secret-0")) == 0 || len(inFiles(t, path, "secret-5")) == 0 {
		t.Fatal("the secrets are in no file before they are erased; the test tests nothing")
	}
	erase(t, s, "t", names[0], names[3], names[4])
	erase(t, s, "t", names[1], names[2], names[5])
	for i := range names {
		if found := inFiles(t, path, fmt.Sprintf("secret-%d", i)); len(found) > 0 {
			t.Errorf("secret %d is still in %v", i, found)
		}
	}
	if err := s.CheckIntegrity(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestEraseWaitsForReaders erases while a reader needs the log, which can only
// be cut after it.
func TestEraseWaitsForReaders(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	s := open(t, path, sqlite.Options{})
	t.Cleanup(func() { _ = s.Close() })
	appendTo(t, s, "t", say("hello"), selvage.New())
	tell(t, s, "t", "m", "secret-x", 5000)
	release := s.HoldReader(t)
	erase(t, s, "t", "m")
	if len(inFiles(t, path, "secret-x")) == 0 {
		t.Error("the log was cut under a reader")
	}
	h, err := s.Load(t.Context(), "t", selvage.LoadOptions{})
	if err != nil || !h.Messages[len(h.Messages)-1].Erased {
		t.Errorf("after the erasure the last message is %+v (%v)", h.Messages, err)
	}
	release()
	s.RestNow()
	if found := inFiles(t, path, "secret-x"); len(found) > 0 {
		t.Errorf("when the reader is gone the secret is still in %v", found)
	}
}

// TestEraseFails has the commit of an erasure fail: nothing may be half erased.
func TestEraseFails(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{})
	appendTo(t, s, "t", say("hello"), selvage.New())
	tell(t, s, "t", "m", "secret-x", 5000)
	before, err := s.Changes(t.Context(), "t", selvage.ChangeQuery{})
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("planted")
	s.Probe(func(m sqlite.Moment) error {
		if m == sqlite.BeforeCommit {
			return broken
		}
		return nil
	})
	e, _ := selvage.As[selvage.Eraser](s)
	req := selvage.EraseRequest{ID: "e", Messages: []string{"m"}}
	if _, err := e.Erase(t.Context(), "t", req); err == nil {
		t.Fatal("an erasure that could not be committed succeeded")
	}
	s.Probe(func(sqlite.Moment) error { return nil })
	after, err := s.Changes(t.Context(), "t", selvage.ChangeQuery{})
	if err != nil || fmt.Sprint(after.Items) != fmt.Sprint(before.Items) {
		t.Errorf("it left its mark: %v (%v)", after.Items, err)
	}
	if _, err := e.Erase(context.Background(), "t", req); err != nil {
		t.Errorf("the same once more: %v", err)
	}
}
