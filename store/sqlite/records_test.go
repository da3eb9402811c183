package sqlite_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

// TestRecordsAreFlat counts what a write and a read of a record cost early and
// late in the life of a store, beside thousands of others.
func TestRecordsAreFlat(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{Durability: sqlite.Ephemeral})
	m, _ := selvage.As[selvage.Memory](s)
	owner, limit := selvage.UserMemory("alice"), 5
	turn := func(i int) (cost [3]int64) {
		t.Helper()
		before := s.Stats()
		d := selvage.MemoryDraft{MemoryName: selvage.MemoryName{Owner: owner, Namespace: "n", Key: fmt.Sprint(i)}, Value: json.RawMessage(`{"a":1}`)}
		if _, err := m.Put(t.Context(), d, selvage.New()); err != nil {
			t.Fatal(err)
		}
		wrote := s.Stats()
		if page, err := m.List(t.Context(), selvage.MemoryQuery{Owner: owner, Limit: &limit}); err != nil || len(page.Items) == 0 {
			t.Fatal(err)
		}
		return [3]int64{wrote.Statements - before.Statements, wrote.Rows - before.Rows, s.Stats().Statements - wrote.Statements}
	}
	early := turn(0)
	for i := range 2000 {
		turn(i + 1)
	}
	if late := turn(3000); late != early {
		t.Errorf("a put takes %d statements and %d rows, and a list %d statements; at first they were %d, %d and %d",
			late[0], late[1], late[2], early[0], early[1], early[2])
	}
}
