package sqlite_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/process"
	"github.com/selvagehq/selvage/internal/soak"
	"github.com/selvagehq/selvage/store/sqlite"
)

const hour = time.Hour

func self(name string) selvage.Owner { return process.Self(name) }

// TestKill kills a process that appends, again and again, and looks after each
// time for everything it had been told was there.
func TestKill(t *testing.T) {
	t.Parallel()
	kills, told := soak.Times(200), 0
	var path string
	var acknowledged map[string]string // "thread version": what it says
	for i := range kills {
		if i%25 == 0 { // else every look would take longer than the last
			path, acknowledged = filepath.Join(t.TempDir(), "selvage.db"), make(map[string]string)
		}
		before := len(acknowledged)
		killOnce(t, "forever", path, acknowledged)
		told += len(acknowledged) - before
		if missing := checkAll(t, path, acknowledged); missing != 0 {
			t.Fatalf("after kill %d, %d of %d acknowledged changes are gone", i+1, missing, len(acknowledged))
		}
	}
	if told < kills {
		t.Errorf("%d kills saw %d acknowledgements; the test shows little", kills, told)
	}
}

// TestKillShowsALie proves that the loop above would notice a store that
// acknowledges too early: to anybody, or to those only who wait while somebody
// else commits for them.
func TestKillShowsALie(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"liar", "hasty"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "selvage.db")
			for range 30 {
				acknowledged := make(map[string]string)
				killOnce(t, role, path, acknowledged)
				if checkAll(t, path, acknowledged) > 0 {
					return
				}
			}
			t.Error("30 kills of a process that tells of changes before they are made found none missing")
		})
	}
}

// killOnce starts a child and kills it at some moment after its first line.
func killOnce(t *testing.T, role, path string, acknowledged map[string]string) {
	t.Helper()
	cmd, out := startChild(t, role, path)
	lines := bufio.NewScanner(out)
	for n := 0; lines.Scan(); n++ {
		if n == 0 {
			killLater(t, cmd, rand.N(60*time.Millisecond))
		}
		if f := strings.Fields(lines.Text()); len(f) == 3 {
			acknowledged[f[0]+" "+f[1]] = f[2]
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the child ended by itself")
	}
}

func killLater(t *testing.T, cmd *exec.Cmd, d time.Duration) {
	t.Helper()
	timer := time.AfterFunc(d, func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Errorf("kill: %v", err)
		}
	})
	t.Cleanup(func() { timer.Stop() })
}

// checkAll proves every thread's chain, and counts the acknowledged changes
// that are missing.
func checkAll(t *testing.T, path string, acknowledged map[string]string) (missing int) {
	t.Helper()
	s := open(t, path, sqlite.Options{})
	defer closeStore(t, s)
	missing = len(acknowledged)
	threads, err := s.Threads(t.Context(), selvage.ThreadQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads.Items {
		version, prev := selvage.Version(0), selvage.Hash{}
		for _, c := range wholeLog(t, s, thread.ID) {
			if version++; c.Version != version {
				t.Fatalf("version %d of thread %s stands where %d should", c.Version, thread.ID, version)
			}
			if err := c.Verify(prev); err != nil {
				t.Fatal(err)
			}
			prev = c.Hash
			messages, err := c.AddedMessages()
			if err != nil {
				t.Fatal(err)
			}
			if want, told := acknowledged[fmt.Sprintf("%s %d", thread.ID, c.Version)]; told {
				missing--
				if messages[0].Text() != want {
					t.Errorf("version %d of thread %s says %q; acknowledged was %q", c.Version, thread.ID, messages[0].Text(), want)
				}
			}
		}
		if version != thread.Version {
			t.Errorf("the log of thread %s ends at %d; its head is at %d", thread.ID, version, thread.Version)
		}
	}
	return missing
}

// wholeLog returns every change of a thread.
func wholeLog(t testing.TB, s *sqlite.Store, id selvage.ThreadID) (log []selvage.Change) {
	t.Helper()
	limit := selvage.MaxPage
	q := selvage.ChangeQuery{Limit: &limit}
	for {
		page, err := s.Changes(t.Context(), id, q)
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, page.Items...)
		if q.Cursor = page.Next; q.Cursor == "" {
			return log
		}
	}
}

// TestEightProcesses lets eight processes append to one thread at once.
func TestEightProcesses(t *testing.T) {
	t.Parallel()
	const processes, wins = 8, 12
	path := filepath.Join(t.TempDir(), "selvage.db")
	var cmds []*exec.Cmd
	var outs []io.Reader
	for range processes {
		cmd, out := startChild(t, "race", path, fmt.Sprint(wins))
		cmds, outs = append(cmds, cmd), append(outs, out)
	}
	authors := make(map[string]string) // version: what its author said
	for i, cmd := range cmds {
		text, err := io.ReadAll(outs[i])
		if err := errors.Join(err, cmd.Wait()); err != nil {
			t.Fatalf("process %d: %v", i, err)
		}
		for line := range strings.Lines(string(text)) {
			version, said, _ := strings.Cut(strings.TrimSpace(line), " ")
			if other, taken := authors[version]; taken {
				t.Errorf("version %s has two authors: %q and %q", version, other, said)
			}
			authors[version] = said
		}
	}
	if len(authors) != processes*wins {
		t.Errorf("%d versions were acknowledged; want %d", len(authors), processes*wins)
	}
	s := open(t, path, sqlite.Options{})
	defer closeStore(t, s)
	log := wholeLog(t, s, "t")
	if len(log) != processes*wins {
		t.Errorf("the log has %d versions; want %d", len(log), processes*wins)
	}
	for _, c := range log {
		messages, err := c.AddedMessages()
		if err != nil {
			t.Fatal(err)
		}
		if said := authors[c.Version.String()]; messages[0].Text() != said {
			t.Errorf("version %d says %q; its author said %q", c.Version, messages[0].Text(), said)
		}
	}
}

// TestDeadOwnerIsSucceeded kills the holder of a lease that has an hour to go.
func TestDeadOwnerIsSucceeded(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{})
	cmd, out := startChild(t, "lease", s.Path())
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	_, err := s.Acquire(t.Context(), "t", self("me"), hour)
	var busy *selvage.BusyError
	if !errors.As(err, &busy) || busy.Owner.PID != cmd.Process.Pid {
		t.Errorf("while its holder lives the lease answers %v; want busy, and who holds it", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the child ended by itself")
	}
	l, err := s.Acquire(t.Context(), "t", self("me"), hour)
	if err != nil || l.Epoch != 2 || l.Took == nil || l.Took.PID != cmd.Process.Pid {
		t.Errorf("after its holder died: %+v, %v; want epoch 2, taken from it", l, err)
	}
}
