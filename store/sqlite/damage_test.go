package sqlite_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/sqlite"
)

// set is a change set that touches everything.
func counted(text string) selvage.ChangeSet {
	set := say(text)
	set.Patches = []selvage.StatePatch{{Ops: state.Patch{state.Set("/last", state.String(text)), state.Append("/all", state.String(text))}}}
	return set
}

// TestDamageShows changes one byte of what is stored and reads it in every way
// there is.
func TestDamageShows(t *testing.T) {
	t.Parallel()
	reads := map[string]func(*sqlite.Store) error{
		"load": func(s *sqlite.Store) error {
			_, err := s.Load(t.Context(), "t", selvage.LoadOptions{})
			return err
		},
		"messages": func(s *sqlite.Store) error {
			_, err := s.Messages(t.Context(), "t", selvage.MessageQuery{})
			return err
		},
		"messages, newest first": func(s *sqlite.Store) error {
			_, err := s.Messages(t.Context(), "t", selvage.MessageQuery{Order: selvage.Descending})
			return err
		},
		"changes": func(s *sqlite.Store) error {
			_, err := s.Changes(t.Context(), "t", selvage.ChangeQuery{})
			return err
		},
		"feed": func(s *sqlite.Store) error {
			w, _ := selvage.As[selvage.Watcher](s)
			_, err := w.Feed(t.Context(), selvage.FeedQuery{})
			return err
		},
		"state": func(s *sqlite.Store) error {
			_, err := s.State(t.Context(), "t", 4)
			return err
		},
	}
	flip := func(column string, at int) string {
		return fmt.Sprintf(`UPDATE changes SET %[1]s = CAST(substr(%[1]s, 1, %[2]d) || char(unicode(substr(%[1]s, %[2]d + 1, 1)) + 1) ||
			substr(%[1]s, %[2]d + 2) AS BLOB) WHERE version = 3`, "CAST("+column+" AS TEXT)", at)
	}
	messages := []string{"load", "messages", "messages, newest first"}
	damages := map[string]struct {
		sql   string
		shows []string // the reads that must notice
	}{
		"a message":                 {strings.Replace(flip("messages", 40), "SET CAST(messages AS TEXT)", "SET messages", 1), []string{"load", "messages", "messages, newest first", "changes", "feed", "state"}},
		"the rest":                  {strings.Replace(flip("rest", 50), "SET CAST(rest AS TEXT)", "SET rest", 1), []string{"load", "messages", "messages, newest first", "changes", "feed", "state"}},
		"the salt":                  {`UPDATE changes SET salt = zeroblob(16) WHERE version = 3`, []string{"load", "messages", "messages, newest first", "changes", "feed", "state"}},
		"a short salt":              {`UPDATE changes SET salt = zeroblob(15) WHERE version = 3`, []string{"load", "messages", "changes", "state"}},
		"the digest":                {`UPDATE changes SET content = zeroblob(32) WHERE version = 3`, []string{"load", "messages", "changes", "feed", "state"}},
		"the hash":                  {`UPDATE changes SET hash = zeroblob(32) WHERE version = 3`, []string{"changes", "feed"}},
		"the time":                  {`UPDATE changes SET at = at + 1 WHERE version = 3`, []string{"changes", "feed"}},
		"the reason":                {`UPDATE changes SET reason = 5 WHERE version = 3`, []string{"load", "messages", "changes", "state"}},
		"no reason":                 {`UPDATE changes SET reason = 99 WHERE version = 3`, []string{"load", "messages", "changes", "state"}},
		"the id":                    {`UPDATE changes SET id = 'other' WHERE version = 3`, []string{"load", "messages", "changes", "feed", "state"}},
		"the sizes":                 {`UPDATE changes SET sizes = x'01' WHERE version = 3`, []string{"load", "messages", "changes", "state"}},
		"no array":                  {`UPDATE changes SET messages = x'20' WHERE version = 3`, []string{"load", "messages", "changes", "state"}},
		"the dropped":               {`UPDATE changes SET dropped = 'x' WHERE version = 3`, []string{"load", "messages", "changes", "state"}},
		"the thread":                {`UPDATE changes SET thread = 99 WHERE version = 3`, []string{"load", "messages", "changes", "state"}},
		"the seq":                   {`UPDATE changes SET first_seq = first_seq + 1 WHERE version = 3`, []string{"load", "changes", "feed"}},
		"a link to itself":          {`UPDATE changes SET prev = pos WHERE version = 3`, []string{"changes"}},
		"a link up":                 {`UPDATE changes SET prev = pos + 1 WHERE version = 3`, []string{"changes"}},
		"a message link to itself":  {`UPDATE changes SET message_prev = pos WHERE version = 3`, messages},
		"a message link up":         {`UPDATE changes SET message_prev = pos + 1 WHERE version = 3`, messages},
		"a message link to too far": {`UPDATE changes SET message_prev = (SELECT pos FROM changes WHERE version = 1) WHERE version = 3`, messages},
		"no message link":           {`UPDATE changes SET message_prev = 0 WHERE version = 3`, messages},
		"a state link to itself":    {`UPDATE changes SET state_prev = pos WHERE version = 3`, []string{"state"}},
		"no row":                    {`DELETE FROM changes WHERE version = 3`, []string{"load", "messages", "messages, newest first", "changes", "state"}},
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fresh(t, sqlite.Options{})
			pre := selvage.New()
			for v := 1; v <= 5; v++ {
				pre = selvage.Exact(appendTo(t, s, "t", counted(fmt.Sprintf("number %d of them", v)), pre).Version)
			}
			if n, err := s.Exec(damage.sql); n != 1 || err != nil {
				t.Fatalf("%d rows, %v", n, err)
			}
			s.Forget()
			for _, read := range damage.shows {
				err := reads[read](s)
				if !errors.Is(err, selvage.ErrCorrupt) {
					t.Errorf("%s: %v; want ErrCorrupt", read, err)
					continue
				}
				if !strings.Contains(err.Error(), `thread "t" version`) {
					t.Errorf("%s: %v; want the thread and the version named", read, err)
				}
			}
		})
	}
}

// TestDamagedHeadShows gives the head another hash than the last change has.
func TestDamagedHeadShows(t *testing.T) {
	t.Parallel()
	for _, sql := range []string{`UPDATE threads SET hash = zeroblob(32)`, `UPDATE threads SET next_seq = 7`, `UPDATE threads SET metadata = '{'`,
		`UPDATE threads SET run = '['`, `UPDATE threads SET pos = 99`} {
		s := fresh(t, sqlite.Options{})
		appendTo(t, s, "t", say("hello"), selvage.New())
		if _, err := s.Exec(sql); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Load(t.Context(), "t", selvage.LoadOptions{}); !errors.Is(err, selvage.ErrCorrupt) {
			t.Errorf("after %s: Load = %v; want ErrCorrupt", sql, err)
		}
	}
}

func TestUnknownCodec(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{})
	appendTo(t, s, "t", say("hello"), selvage.New())
	if _, err := s.Exec(`UPDATE changes SET codec = 7`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(t.Context(), "t", selvage.LoadOptions{}); !errors.Is(err, selvage.ErrCorrupt) {
		t.Errorf("Load of a body of a codec that does not exist = %v; want ErrCorrupt", err)
	}
}
