package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

func TestCheckIntegrity(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	fill := func(s *sqlite.Store) {
		pre := selvage.New()
		for range 100 {
			set := selvage.ChangeSet{Messages: []selvage.Message{selvage.UserText(strings.Repeat("x", 1000))}}
			if _, err := s.Append(t.Context(), "t", set, pre); err != nil {
				t.Fatal(err)
			}
			pre = selvage.Any()
		}
	}
	within := func(f func(*sqlite.Store)) {
		t.Helper()
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{Durability: sqlite.Ephemeral})
		if err != nil {
			t.Fatal(err)
		}
		f(s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	within(fill)
	within(func(s *sqlite.Store) {
		if err := s.CheckIntegrity(t.Context()); err != nil {
			t.Errorf("CheckIntegrity of a sound file = %v", err)
		}
	})
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	copy(data[len(data)-page:], strings.Repeat("\xff", 100)) // the head of the last page
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	within(func(s *sqlite.Store) {
		if err := s.CheckIntegrity(t.Context()); !errors.Is(err, selvage.ErrCorrupt) {
			t.Errorf("CheckIntegrity of a damaged file = %v; want corrupt", err)
		}
	})
}
