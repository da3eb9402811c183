package record_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/record"
)

func draft(key, value string) selvage.MemoryDraft {
	return selvage.MemoryDraft{MemoryName: selvage.MemoryName{Owner: selvage.UserMemory("alice"), Namespace: "n", Key: key}, Value: json.RawMessage(value)}
}

// A commit that was not answered is looked for, and is no conflict with itself.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	e := newToy()
	m := offer[selvage.Memory](t, e)
	e.loseAnswers(2)
	first, err := m.Put(t.Context(), draft("a", `1`), selvage.New())
	if err != nil || first.Version != 1 || e.runs != 3 {
		t.Fatalf("a put whose answer was lost twice: version %d, %v, in %d updates; want version 1 in 3", first.Version, err, e.runs)
	}
	e.loseAnswers(1)
	if second, err := m.Put(t.Context(), draft("a", `2`), selvage.Exact(1)); err != nil || second.Version != 2 {
		t.Errorf("a put at a version: %d, %v; want version 2", second.Version, err)
	}
	e.loseAnswers(1)
	if err := m.Delete(t.Context(), draft("a", ``).MemoryName, selvage.Exact(2)); !errors.Is(err, selvage.ErrUnknownOutcome) {
		t.Errorf("a delete at a version, gone when it was looked for: %v; want unknown_outcome, because it may have been another's", err)
	}
	e.loseAnswers(0)
	if _, err := m.Put(t.Context(), draft("b", `1`), selvage.Any()); err != nil {
		t.Fatal(err)
	}
	e.loseAnswers(1)
	if n, err := m.Clear(t.Context(), selvage.UserMemory("alice")); err != nil || n != 1 {
		t.Errorf("a clear whose answer was lost removed %d, %v; want 1", n, err)
	}
	e.loseAnswers(100)
	if _, err := m.Put(t.Context(), draft("c", `1`), selvage.Any()); !errors.Is(err, selvage.ErrUnknownOutcome) {
		t.Errorf("a put that is never answered: %v; want unknown_outcome", err)
	}
}

func TestLostAnswersOfTheRest(t *testing.T) {
	t.Parallel()
	e := newToy()
	agent := selvage.ConfigName{Kind: "agent", ID: "a"}
	e.loseAnswers(1)
	v, err := offer[selvage.Config](t, e).Publish(t.Context(), selvage.ConfigDraft{ConfigName: agent, Value: json.RawMessage(`1`)}, selvage.New())
	if err != nil || v.Version != 1 || v.Unchanged {
		t.Errorf("publish: version %d, unchanged %v, %v; want 1, written by this call", v.Version, v.Unchanged, err)
	}
	e.loseAnswers(1)
	p, err := offer[selvage.Publications](t, e).Publish(t.Context(), selvage.PublicationDraft{Pins: []selvage.ConfigPin{{ConfigName: agent}}})
	if err != nil || p.Number != 1 {
		t.Errorf("publish together: number %d, %v; want 1", p.Number, err)
	}
	e.loseAnswers(1)
	audit := offer[selvage.Audit](t, e)
	if _, err := audit.Append(t.Context(), selvage.AuditEntry{Actor: "a", Action: "b"}); err != nil {
		t.Error(err)
	}
	if page, err := audit.Query(t.Context(), selvage.AuditQuery{}); err != nil || len(page.Items) != 1 {
		t.Errorf("%d audit entries, %v; want 1", len(page.Items), err)
	}
	e.loseAnswers(1)
	stream := selvage.ReplayStream{ID: "s", Protocol: "p", Version: "1"}
	rows, err := offer[selvage.Replay](t, e).Append(t.Context(), stream, []selvage.ReplayDraft{{WireID: "w"}})
	if err != nil || len(rows) != 1 || rows[0].Seq != 1 {
		t.Errorf("replay rows %v, %v; want one", rows, err)
	}
}

// What was changed behind the back of the keeper is corrupt, never a wrong value.
func TestDamage(t *testing.T) {
	t.Parallel()
	e := newToy()
	c, m, r := offer[selvage.Config](t, e), offer[selvage.Memory](t, e), offer[selvage.Replay](t, e)
	agent := selvage.ConfigName{Kind: "agent", ID: "a"}
	stream := selvage.ReplayStream{ID: "s", Protocol: "p", Version: "1"}
	{
		_, err1 := c.Publish(t.Context(), selvage.ConfigDraft{ConfigName: agent, Value: json.RawMessage(`{"n":1}`)}, selvage.Any())
		_, err2 := m.Put(t.Context(), draft("a", `1`), selvage.Any())
		_, err3 := r.Append(t.Context(), stream, []selvage.ReplayDraft{{WireID: "a"}, {WireID: "b"}, {WireID: "c"}})
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
	}
	corrupt := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, selvage.ErrCorrupt) {
			t.Errorf("%s: %v; want corrupt", what, err)
		}
	}
	e.spoil("config.version", func(_ string, row record.Row) []byte {
		return append(row.Value[:len(row.Value)-2:len(row.Value)-2], "2}"...)
	})
	_, err := c.Version(t.Context(), agent, 1)
	corrupt("a value that was changed", err)
	_, err = c.Versions(t.Context(), selvage.ConfigVersionQuery{Name: agent})
	corrupt("a list of it", err)
	_, err = c.Rollback(t.Context(), agent, 1, selvage.Any())
	corrupt("a rollback to it", err)
	e.spoil("config.version", func(string, record.Row) []byte { return nil })
	_, err = c.Version(t.Context(), agent, 0)
	corrupt("a current version that is missing", err)
	for _, cut := range []int{0, 1, 5} {
		e.spoil("memory", func(_ string, row record.Row) []byte { return append([]byte{0xff}, row.Value[:cut]...) })
		_, err = m.Get(t.Context(), draft("a", ``).MemoryName)
		corrupt("a row that was cut", err)
		_, err = m.List(t.Context(), selvage.MemoryQuery{Owner: selvage.UserMemory("alice")})
		corrupt("a list of it", err)
		e.spoil("memory", func(string, record.Row) []byte { return nil })
		if _, err := m.Put(t.Context(), draft("a", `1`), selvage.Any()); err != nil {
			t.Fatal(err)
		}
	}
	e.spoil("replay", func(key string, row record.Row) []byte {
		if key[len(key)-1] == 2 {
			return nil
		}
		return row.Value
	})
	_, err = r.List(t.Context(), stream, selvage.ReplayQuery{})
	corrupt("a stream with a hole", err)
	_, err = r.List(t.Context(), stream, selvage.ReplayQuery{After: "a"})
	corrupt("a stream that goes on with a hole", err)
	_, err = r.Append(t.Context(), stream, []selvage.ReplayDraft{{WireID: "b"}})
	corrupt("a row sent again that is missing", err)
	e.spoil("replay", func(key string, row record.Row) []byte {
		if key[len(key)-1] == 3 {
			return nil
		}
		return row.Value
	})
	_, err = r.List(t.Context(), stream, selvage.ReplayQuery{After: "b"})
	corrupt("a stream whose end is missing", err)
}

// Ids of one keeper sort as they were made, whatever its clock does.
func TestAuditIDsSort(t *testing.T) {
	t.Parallel()
	e := newToy()
	audit := offer[selvage.Audit](t, e)
	last := ""
	for i := range 5000 {
		if i == 4500 {
			e.now = e.now.Add(-time.Hour)
		}
		entry, err := audit.Append(t.Context(), selvage.AuditEntry{Actor: "a", Action: "b"})
		if err != nil {
			t.Fatal(err)
		}
		if entry.ID <= last {
			t.Fatalf("entry %d has the id %s after %s", i, entry.ID, last)
		}
		last = entry.ID
		e.rows = make(map[string]record.Row) // nothing else is looked at
	}
}
