package sqlite_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

// failSyncs has the next n syncs of the log or of the database fail, as of a
// disk with a bad block: what they were to force counts as written from then
// on, can be read, and never reaches the disk.
func (m *machine) failSyncs(n int) {
	m.d.fail(func(e event) error {
		if e.kind != synced || n == 0 {
			return nil
		}
		n--
		m.d.add(event{kind: lost, node: e.node})
		return sqlite3.IOERR_FSYNC
	})
}

// TestFailedSync has the disk refuse to force an append. It is not
// acknowledged; and when it is sent again, and acknowledged, it is there, and
// so is all that came after it, whenever the power goes.
func TestFailedSync(t *testing.T) {
	t.Parallel()
	for failures := 1; failures <= 8; failures++ {
		for _, readers := range []bool{false, true}[:1+failures%2] {
			t.Run(fmt.Sprintf("%d times, readers %v", failures, readers), func(t *testing.T) {
				t.Parallel()
				m := newMachine(t, sqlite.Options{})
				s := m.open()
				appendTo(t, s, "a", say("before"), selvage.New())
				m.d.note(acked{"a", 1, "before"})
				if readers { // whose connection stays open
					if _, err := s.Load(t.Context(), "a", selvage.LoadOptions{}); err != nil {
						t.Fatal(err)
					}
				}
				set := counted("sent again and again")
				set.ID = selvage.NewID()
				m.failSyncs(failures)
				_, err := s.Append(t.Context(), "b", set, selvage.New())
				if !errors.Is(err, selvage.ErrUnknownOutcome) {
					t.Fatalf("an append that could not be forced to the disk: %v; want ErrUnknownOutcome", err)
				}
				for tries := 0; err != nil; tries++ {
					if code := selvage.Code(err); tries > 2*failures || code != "unknown_outcome" && code != "unavailable" {
						t.Fatalf("after %d tries: %v", tries, err)
					}
					_, err = s.Append(t.Context(), "b", set, selvage.New())
				}
				m.d.note(acked{"b", 1, "sent again and again"})
				since := m.d.len()
				m.append(t.Context(), s, "a")
				m.append(t.Context(), s, "b")
				s.RestNow()
				m.append(t.Context(), s, "b")
				closeStore(t, s)
				m.checkFrom(since)
			})
		}
	}
}

// checkFrom cuts the power at some moments from a point on, and at that point.
func (m *machine) checkFrom(first int) {
	m.t.Helper()
	const moments = 5
	for i := range moments {
		n := first + (m.d.len()-first)*i/(moments-1)
		for _, f := range []fate{dropped, tornAny} {
			o := outage{uint64(n), n, f}
			if missing, err := m.suffer(o); missing > 0 || err != nil {
				m.t.Fatalf("%v: %d acknowledged changes are missing, %v", o, missing, err)
			}
		}
	}
}

// TestFullDisk has the disk fill up at each write of an append in turn. The
// append is refused with an error that says so, reads go on, and when there is
// space again so do appends; nothing that was acknowledged is lost.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]error{"full": sqlite3.FULL, "broken": sqlite3.IOERR_WRITE} {
		for at := 0; at < 10; at += 2 {
			t.Run(fmt.Sprintf("%s at write %d", name, at), func(t *testing.T) {
				t.Parallel()
				m := newMachine(t, sqlite.Options{})
				s := m.open()
				m.append(t.Context(), s, "a")
				m.append(t.Context(), s, "b")
				m.fill(code, at)
				m.refused(s, code)
				if _, err := s.Load(t.Context(), "a", selvage.LoadOptions{}); err != nil {
					t.Errorf("a read while the disk is %s: %v", name, err)
				}
				s.RestNow() // fails, and is only put off
				m.d.fail(nil)
				since := m.d.len()
				m.append(t.Context(), s, "a")
				s.RestNow()
				m.append(t.Context(), s, "b")
				if err := s.CheckIntegrity(t.Context()); err != nil {
					t.Error(err)
				}
				closeStore(t, s)
				m.checkFrom(since)
			})
		}
	}
}

// fill has every write fail after the next n.
func (m *machine) fill(code error, n int) {
	m.d.fail(func(e event) error {
		if e.kind != written {
			return nil
		}
		if n--; n >= 0 {
			return nil
		}
		return code
	})
}

// refused appends until it is refused, and checks how.
func (m *machine) refused(s *sqlite.Store, code error) {
	m.t.Helper()
	for i := range 20 {
		set := counted(fmt.Sprintf("to a full disk, %d", i))
		_, err := s.Append(m.t.Context(), "a", set, selvage.Any())
		if err == nil {
			h, err := s.Load(m.t.Context(), "a", selvage.LoadOptions{})
			if err != nil {
				m.t.Fatal(err)
			}
			m.d.note(acked{"a", h.Thread.Version, set.Messages[0].Text()})
			continue
		}
		full := errors.Is(code, sqlite3.FULL)
		switch {
		case full && (!errors.Is(err, selvage.ErrUnavailable) || !strings.Contains(err.Error(), "disk is full")):
			m.t.Errorf("an append to a full disk: %v; want ErrUnavailable, and what to do", err)
		case !full && !errors.Is(err, selvage.ErrUnavailable) && !errors.Is(err, selvage.ErrUnknownOutcome):
			m.t.Errorf("an append to a broken disk: %v; want ErrUnavailable or ErrUnknownOutcome", err)
		}
		return
	}
	m.t.Error("20 appends to a full disk, and none was refused")
}

// TestBrokenRead has the disk fail to read: the error says so, is not taken
// for damage, and passes.
func TestBrokenRead(t *testing.T) {
	t.Parallel()
	m := newMachine(t, sqlite.Options{CacheBytes: -1})
	s := m.open()
	m.append(t.Context(), s, "a")
	closeStore(t, s)
	s = m.open()
	defer closeStore(t, s)
	m.d.fail(func(e event) error {
		if e.kind == looked {
			return sqlite3.IOERR_READ
		}
		return nil
	})
	if _, err := s.Changes(t.Context(), "a", selvage.ChangeQuery{}); !errors.Is(err, selvage.ErrUnavailable) {
		t.Errorf("a read that the disk failed: %v; want ErrUnavailable", err)
	}
	m.d.fail(nil)
	if page, err := s.Changes(t.Context(), "a", selvage.ChangeQuery{}); err != nil || len(page.Items) != 1 {
		t.Errorf("after the disk recovered: %d changes, %v", len(page.Items), err)
	}
}
