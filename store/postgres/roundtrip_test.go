package postgres_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/pgtest"
)

// TestRoundTrips counts how often the store has the server answer before it
// goes on. Hints to other processes, which nobody waits for, do not count.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	url := database(t)
	proxy := pgtest.NewProxy(t, url)
	s := open(t, with(proxy.URL(t, url), "pool_max_conns=2"))
	other := open(t, url)
	parent := selvage.ThreadID("parent")
	put(t, s, "t", said("first", "hello"), selvage.New())
	put(t, s, parent, said("first", "hello"), selvage.New())
	put(t, s, "t", said("second", "hello"), selvage.Any())
	n := 0
	fresh := func() selvage.ChangeSet { n++; return said(fmt.Sprintf("set-%d", n), "hello") }
	for _, c := range []struct {
		name string
		want int64
		act  func() error
	}{
		{"an append to a thread at hand", 1, func() error { _, err := s.Append(t.Context(), "t", fresh(), selvage.Any()); return err }},
		{"an append at an exact version", 1, func() error {
			_, err := s.Append(t.Context(), "t", fresh(), selvage.Exact(version(t, other, "t")))
			return err
		}},
		{"a new thread", 1, func() error {
			_, err := s.Append(t.Context(), selvage.ThreadID(fmt.Sprint("t", n)), fresh(), selvage.New())
			return err
		}},
		{"a load", 1, func() error { _, err := s.Load(t.Context(), "t", selvage.LoadOptions{}); return err }},
		{"an append to a thread not at hand", 2, func() error {
			s.Forget("t")
			_, err := s.Append(t.Context(), "t", fresh(), selvage.Any())
			return err
		}},
	} {
		// The first time the statements are prepared.
		if err := c.act(); err != nil {
			t.Fatal(err)
		}
		var trips atomic.Int64
		proxy.Watch(func(step pgtest.Step) pgtest.Verdict {
			const query, sync = 'Q', 'S'
			hint := strings.HasPrefix(string(step.Body), "NOTIFY")
			if !step.FromServer && (step.Kind == sync || step.Kind == query && !hint) {
				trips.Add(1)
			}
			return pgtest.Pass
		})
		if err := c.act(); err != nil {
			t.Fatal(err)
		}
		proxy.Watch(nil)
		if got := trips.Load(); got > c.want {
			t.Errorf("%s takes %d round trips; want %d", c.name, got, c.want)
		}
	}
}
