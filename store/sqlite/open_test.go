package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

// say is a change set of one message.
func say(text string) selvage.ChangeSet {
	return selvage.ChangeSet{Messages: []selvage.Message{selvage.UserText(text)}}
}

// fresh opens a store in a file of the test's own.
func fresh(t testing.TB, opts sqlite.Options) *sqlite.Store {
	t.Helper()
	s := open(t, filepath.Join(t.TempDir(), "selvage.db"), opts)
	t.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, selvage.ErrClosed) {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func appendTo(t testing.TB, s *sqlite.Store, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) selvage.Receipt {
	t.Helper()
	r, err := s.Append(t.Context(), id, set, pre)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	write(t, text, []byte(strings.Repeat("This is no database. ", 500)))
	short := filepath.Join(dir, "short")
	write(t, short, []byte("hello"))
	foreign := filepath.Join(dir, "foreign.db")
	foreignDatabase(t, foreign)
	newer := filepath.Join(dir, "newer.db")
	s := open(t, newer, sqlite.Options{})
	if _, err := s.Exec(fmt.Sprintf("PRAGMA user_version = %d", sqlite.SchemaVersion+1)); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	cut := filepath.Join(dir, "cut.db")
	whole, err := os.ReadFile(newer)
	if err != nil {
		t.Fatal(err)
	}
	write(t, cut, whole[:5000])
	detour := filepath.Join(dir, "missing", "..", "text", "below.db")
	tests := map[string]struct {
		path  string
		class error
		says  string
	}{
		"a directory":            {dir, selvage.ErrInvalid, "is a directory; name a file in it"},
		"nothing":                {"", selvage.ErrInvalid, "not the path of a file"},
		"memory":                 {":memory:", selvage.ErrInvalid, "not the path of a file"},
		"a NUL":                  {"a\x00b", selvage.ErrInvalid, "not the path of a file"},
		"a device":               {os.DevNull, selvage.ErrInvalid, "not a regular file"},
		"text":                   {text, selvage.ErrCorrupt, "not a SQLite database"},
		"a few bytes":            {short, selvage.ErrCorrupt, "not a SQLite database"},
		"another program's":      {foreign, selvage.ErrInvalid, "of another program"},
		"a newer schema":         {newer, selvage.ErrUnsupported, "use a newer one"},
		"half of it":             {cut, selvage.ErrCorrupt, "damaged"},
		"below a file":           {filepath.Join(text, "a.db"), selvage.ErrUnavailable, "not a directory"},
		"a directory, by detour": {detour, selvage.ErrUnavailable, "not a directory"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := snapshot(tt.path)
			s, err := sqlite.Open(t.Context(), tt.path, sqlite.Options{})
			if err == nil {
				closeStore(t, s)
				t.Fatalf("Open(%q) succeeded", tt.path)
			}
			if !errors.Is(err, tt.class) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("Open(%q) = %v (code %s); want %q in an error matching %q", tt.path, err, selvage.Code(err), tt.says, tt.class)
			}
			if !bytes.Equal(before, snapshot(tt.path)) {
				t.Errorf("Open(%q) changed the file", tt.path)
			}
		})
	}
}

// snapshot is what is in a file, or nothing.
func snapshot(path string) []byte {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return []byte(err.Error())
	}
	return data
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func closeStore(t testing.TB, s *sqlite.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// foreignDatabase makes a database that looks like somebody else's.
func foreignDatabase(t *testing.T, path string) {
	s := open(t, path, sqlite.Options{})
	if _, err := s.Exec("PRAGMA application_id = 7"); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
}

func TestOpenRefusesOptions(t *testing.T) {
	t.Parallel()
	for _, opts := range []sqlite.Options{{Durability: "fast"}, {Readers: -1}} {
		path := filepath.Join(t.TempDir(), "selvage.db")
		if _, err := sqlite.Open(t.Context(), path, opts); !errors.Is(err, selvage.ErrInvalid) {
			t.Errorf("Open with %+v = %v; want ErrInvalid", opts, err)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Open with %+v left a file", opts)
		}
	}
}

// TestOpenUnreadable opens files that the file system refuses. It uses what is
// refused to every user, the superuser included.
func TestOpenUnreadable(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Log("there is no /proc here, whose files nobody may make")
		return
	}
	_, err := sqlite.Open(t.Context(), "/proc/selvage.db", sqlite.Options{})
	if !errors.Is(err, selvage.ErrUnavailable) || !strings.Contains(err.Error(), "cannot be created") {
		t.Errorf("Open in a directory where nothing can be made = %v", err)
	}
}

func TestOpenMakesPrivateFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "deep", "a?b#c%41 d.db")
	s := open(t, path, sqlite.Options{})
	appendTo(t, s, "t", say("hello"), selvage.New())
	if s.Path() != path || s.Durability() != sqlite.Durable {
		t.Errorf("the store is %s, %s", s.Path(), s.Durability())
	}
	for name, want := range map[string]fs.FileMode{path: 0o600, path + "-wal": 0o600, filepath.Dir(path): fs.ModeDir | 0o700} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s has mode %v; want %v: conversations are private", name, info.Mode(), want)
		}
	}
	closeStore(t, s)
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 1 {
		t.Errorf("after the last close there are %v; want the one file", left)
	}
}

func TestOpenTakesAnEmptyFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "empty.db")
	write(t, path, nil)
	s := open(t, path, sqlite.Options{})
	appendTo(t, s, "t", say("hello"), selvage.New())
	closeStore(t, s)
}

// TestOpenAtOnce lets many openers meet at a file that does not exist.
func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dir", "selvage.db")
	var g errgroup.Group
	for i := range 8 {
		g.Go(func() error {
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err != nil {
				return err
			}
			_, err = s.Append(t.Context(), selvage.ThreadID(fmt.Sprintf("t-%d", i)), say("hello"), selvage.New())
			return errors.Join(err, s.Close())
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	s := open(t, path, sqlite.Options{})
	page, err := s.Threads(t.Context(), selvage.ThreadQuery{})
	if err != nil || len(page.Items) != 8 {
		t.Errorf("after 8 openers there are %d threads, %v; want 8", len(page.Items), err)
	}
	closeStore(t, s)
}

func TestDurabilityIsWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	for durability, want := range map[sqlite.Durability]int64{"": 2, sqlite.Durable: 2, sqlite.CrashSafe: 1, sqlite.Ephemeral: 0} {
		s := fresh(t, sqlite.Options{Durability: durability})
		var got any
		s.AtTurn(func() { got = s.Pragma("synchronous") })
		if got != want {
			t.Errorf("durability %q runs with synchronous = %v; want %d", durability, got, want)
		}
	}
}

func TestCloseTwice(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{})
	closeStore(t, s)
	if err := s.Close(); !errors.Is(err, selvage.ErrClosed) {
		t.Errorf("the second Close = %v; want ErrClosed", err)
	}
	if _, err := s.Append(t.Context(), "t", say("late"), selvage.New()); !errors.Is(err, selvage.ErrClosed) {
		t.Errorf("Append after Close = %v; want ErrClosed", err)
	}
	if err := s.Release(t.Context(), selvage.Lease{ThreadID: "t"}); !errors.Is(err, selvage.ErrClosed) {
		t.Errorf("Release after Close = %v; want ErrClosed", err)
	}
}
