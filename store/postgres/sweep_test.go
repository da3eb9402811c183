package postgres_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/pgtest"
	"github.com/selvagehq/selvage/internal/soak"
	"github.com/selvagehq/selvage/store/postgres"
)

// sweep is something done through a connection that is cut at every byte.
type sweep struct {
	name   string
	stride int // bytes from one cut to the next; 1 in a soak
	// prepare makes ready what the n-th attempt needs, through the same
	// connection, so that it is open and knows its statements.
	prepare func(t *testing.T, s *postgres.Store, n int)
	// act is what is cut, and again what then must show that it happened once
	// or, after an error, once or not at all.
	act   func(t *testing.T, s *postgres.Store, n int) error
	again func(t *testing.T, s *postgres.Store, n int, answered bool)
}

// TestCutAtAnyByte cuts the connection at each byte of what an operation says
// and is answered, sometimes for good and sometimes not: whatever was answered
// holds, and what was not can be asked again.
func TestCutAtAnyByte(t *testing.T) {
	t.Parallel()
	for _, sw := range []sweep{sweepAppend("an append", 1, nil), sweepAppend("an append under a parent", 9, adopted), sweepLoad(), sweepDelete()} {
		for direction, fromServer := range map[string]bool{"asked": false, "answered": true} {
			t.Run(sw.name+"/"+direction, func(t *testing.T) {
				t.Parallel()
				sw.run(t, fromServer)
			})
		}
	}
}

func (sw sweep) run(t *testing.T, fromServer bool) {
	url := database(t)
	proxy := pgtest.NewProxy(t, url)
	s := open(t, with(proxy.URL(t, url), "pool_max_conns=2"))
	stride := sw.stride
	if soak.Times(1) > 1 {
		stride = 1
	}
	unknown, cuts := 0, 0
	for n, at := 0, 1; ; n, at = n+1, at+stride {
		sw.prepare(t, s, n)
		proxy.CutAfterBytes(at, fromServer, n%2 == 0)
		err := sw.act(t, s, n)
		cut := proxy.CutNoMore()
		if err != nil && !hidden(err) {
			t.Fatalf("cut after byte %d: %v; want unavailable or unknown_outcome", at, err)
		}
		if errors.Is(err, selvage.ErrUnknownOutcome) {
			unknown++
		}
		sw.again(t, s, n, err == nil)
		if t.Failed() {
			t.Fatalf("cut after byte %d", at)
		}
		if !cut {
			t.Logf("%d cuts, %d bytes, %d unknown outcomes", cuts, at, unknown)
			return
		}
		cuts++
	}
}

const swept = "swept"

// adopted names a parent, which takes a transaction of several statements.
func adopted(n int) *selvage.ThreadUpdate {
	parent := selvage.ThreadID(fmt.Sprintf("parent-%d", n%2))
	return &selvage.ThreadUpdate{ParentID: &parent}
}

func sweepAppend(name string, stride int, update func(n int) *selvage.ThreadUpdate) sweep {
	set := func(n int) selvage.ChangeSet {
		set := said(fmt.Sprintf("set-%d", n), "hello")
		if update != nil {
			set.Thread = update(n)
		}
		return set
	}
	return sweep{
		name: name, stride: stride,
		prepare: func(t *testing.T, s *postgres.Store, n int) {
			if n == 0 {
				for _, id := range []selvage.ThreadID{swept, "parent-0", "parent-1"} {
					put(t, s, id, said("first", "hello"), selvage.New())
				}
			}
			before := set(n)
			before.ID = fmt.Sprintf("before-%d", n)
			put(t, s, swept, before, selvage.Any())
		},
		act: func(t *testing.T, s *postgres.Store, n int) error {
			r, err := s.Append(t.Context(), swept, set(n), selvage.Exact(selvage.Version(2*n+2)))
			if err == nil && (r.Replayed || int(r.Version) != 2*n+3) {
				t.Errorf("it answers version %d (replayed %v); want %d", r.Version, r.Replayed, 2*n+3)
			}
			return err
		},
		again: func(t *testing.T, s *postgres.Store, n int, answered bool) {
			r, err := s.Append(t.Context(), swept, set(n), selvage.Exact(selvage.Version(2*n+2)))
			if err != nil || int(r.Version) != 2*n+3 || answered && !r.Replayed {
				t.Errorf("sent again it answers version %d (replayed %v), %v; want %d", r.Version, r.Replayed, err, 2*n+3)
			}
			if got := version(t, s, swept); int(got) != 2*n+3 {
				t.Errorf("the thread is at version %d; want %d: written once", got, 2*n+3)
			}
		},
	}
}

func put(t *testing.T, s *postgres.Store, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) {
	t.Helper()
	if _, err := s.Append(t.Context(), id, set, pre); err != nil {
		t.Fatal(err)
	}
}

func sweepLoad() sweep {
	load := func(t *testing.T, s *postgres.Store) error {
		h, err := s.Load(t.Context(), swept, selvage.LoadOptions{})
		if err == nil && (h.Thread.Version != 2 || len(h.Messages) != 2) {
			t.Errorf("it answers version %d with %d messages; want 2 and 2", h.Thread.Version, len(h.Messages))
		}
		return err
	}
	return sweep{
		name: "a load", stride: 7,
		prepare: func(t *testing.T, s *postgres.Store, n int) {
			if n == 0 {
				put(t, s, swept, said("a", "hello"), selvage.New())
				put(t, s, swept, said("b", "hello"), selvage.Any())
			}
			if err := load(t, s); err != nil {
				t.Fatal(err)
			}
		},
		act: func(t *testing.T, s *postgres.Store, _ int) error { return load(t, s) },
		again: func(t *testing.T, s *postgres.Store, _ int, _ bool) {
			if err := load(t, s); err != nil {
				t.Error(err)
			}
		},
	}
}

func sweepDelete() sweep {
	return sweep{
		name: "a deletion", stride: 23,
		prepare: func(t *testing.T, s *postgres.Store, n int) {
			pre := selvage.Recreate()
			if n == 0 {
				pre = selvage.New()
			}
			put(t, s, swept, said(fmt.Sprintf("set-%d", n), "hello"), pre)
		},
		act: func(t *testing.T, s *postgres.Store, _ int) error {
			return s.Delete(t.Context(), swept, selvage.DeleteReject)
		},
		again: func(t *testing.T, s *postgres.Store, n int, answered bool) {
			err := s.Delete(t.Context(), swept, selvage.DeleteReject)
			if answered && !errors.Is(err, selvage.ErrNotFound) || !answered && err != nil && !errors.Is(err, selvage.ErrNotFound) {
				t.Errorf("a deletion that was answered (%v) answers %v when asked again", answered, err)
			}
			// Each life makes two versions: the thread was deleted once.
			r, err := s.Append(t.Context(), swept, said(fmt.Sprintf("after-%d", n), "hello"), selvage.Recreate())
			if err != nil || int(r.Version) != 4*n+3 {
				t.Errorf("brought back it is at version %d, %v; want %d", r.Version, err, 4*n+3)
			}
			if err := s.Delete(t.Context(), swept, selvage.DeleteReject); err != nil {
				t.Error(err)
			}
		},
	}
}
