package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/soak"
	"github.com/selvagehq/selvage/store/sqlite"
)

// acked is a change that was acknowledged.
type acked struct {
	thread  selvage.ThreadID
	version selvage.Version
	text    string
}

// deletion is a thread that is being deleted, or was.
type deletion struct {
	thread selvage.ThreadID
	done   bool
}

// machine is a computer that works on a database until its power goes.
type machine struct {
	t    *testing.T
	d    *journaled
	path string
	opts sqlite.Options
	lie  bool // tell of changes before they are made
}

func newMachine(t *testing.T, opts sqlite.Options) *machine {
	root := t.TempDir()
	d := newDrive(t, root)
	// Neither the directory nor the one above it is there yet.
	return &machine{t: t, d: d, path: filepath.Join(root, "new", "dir", "selvage.db"), opts: d.options(opts)}
}

func (m *machine) open() *sqlite.Store {
	m.t.Helper()
	s, err := sqlite.Open(m.t.Context(), m.path, m.opts)
	if err != nil {
		m.t.Fatal(err)
	}
	return s
}

// work is everything that writes files: groups of appends, checkpoints of each
// kind, a log that starts over, deletions, and a database opened again.
func (m *machine) work() {
	m.t.Helper()
	ctx := m.t.Context()
	for round := range 2 {
		s := m.open()
		m.appendAll(ctx, s, 4)
		s.RestNow() // copies the log, which then starts over
		m.appendAll(ctx, s, 3)
		if _, err := s.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			m.t.Error(err)
		}
		m.appendAll(ctx, s, 2)
		m.delete(ctx, s, selvage.ThreadID(fmt.Sprintf("t-%d", round)))
		m.appendAll(ctx, s, 1)
		closeStore(m.t, s)
	}
}

// appendAll has four writers append n times each, to threads of their own.
func (m *machine) appendAll(ctx context.Context, s *sqlite.Store, n int) {
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			id := selvage.ThreadID(fmt.Sprintf("t-%d", i))
			for range n {
				m.append(ctx, s, id)
			}
		})
	}
	writers.Wait()
}

func (m *machine) append(ctx context.Context, s *sqlite.Store, id selvage.ThreadID) {
	pre, version := selvage.New(), selvage.Version(1)
	if h, err := s.Load(ctx, id, selvage.LoadOptions{}); err == nil {
		pre, version = selvage.Exact(h.Thread.Version), h.Thread.Version+1
	} else if !errors.Is(err, selvage.ErrNotFound) {
		m.t.Error(err)
		return
	}
	set := counted(selvage.NewID())
	told := acked{id, version, set.Messages[0].Text()}
	if m.lie {
		m.d.note(told)
	}
	_, err := s.Append(ctx, id, set, pre)
	if errors.Is(err, selvage.ErrAlreadyExists) {
		return // it was deleted
	}
	if err != nil {
		m.t.Error(err)
		return
	}
	if !m.lie {
		m.d.note(told)
	}
}

func (m *machine) delete(ctx context.Context, s *sqlite.Store, id selvage.ThreadID) {
	m.d.note(deletion{thread: id})
	if err := s.Delete(ctx, id, selvage.DeleteReject); err != nil {
		m.t.Error(err)
	}
	m.d.note(deletion{id, true})
}

// known is what was told until the power went.
type known struct {
	changes  []acked
	deleting map[selvage.ThreadID]bool // true once it was acknowledged
}

func (j *journal) known(n int) known {
	j.mu.Lock()
	defer j.mu.Unlock()
	k := known{deleting: make(map[selvage.ThreadID]bool)}
	for _, e := range j.events[:n] {
		switch what := e.note.(type) {
		case acked:
			k.changes = append(k.changes, what)
		case deletion:
			k.deleting[what.thread] = what.done
		}
	}
	return k
}

// outage is one loss of power.
type outage struct {
	seed  uint64
	after int // events
	fate  fate
}

func (o outage) String() string {
	return fmt.Sprintf("power lost after event %d, what was not synced is %v (seed %d)", o.after, o.fate, o.seed)
}

// outages returns losses of power at every kind of moment: just before and
// just after syncs, and anywhere between.
func (j *journal) outages(n int, seed uint64) []outage {
	j.mu.Lock()
	defer j.mu.Unlock()
	var syncs []int
	for i, e := range j.events {
		if e.kind == synced || e.kind == dirSynced {
			syncs = append(syncs, i)
		}
	}
	random := rand.New(rand.NewPCG(seed, 0))
	all := make([]outage, n)
	for i := range all {
		after := random.IntN(len(j.events) + 1)
		if i%3 != 0 {
			after = syncs[random.IntN(len(syncs))] + i%3 - 1
		}
		all[i] = outage{seed + uint64(i), after, fate(i % int(numFates))}
	}
	return all
}

// suffer makes the disk that an outage leaves, opens it with the driver that
// ships, and returns how many acknowledged changes are missing, or what else
// is wrong.
func (m *machine) suffer(o outage) (missing int, err error) {
	disk := m.d.crash(o.after, o.fate, rand.New(rand.NewPCG(o.seed, 1)))
	to, err := os.MkdirTemp(m.t.TempDir(), "image")
	if err != nil {
		return 0, err
	}
	path, err := disk.write(m.d.root, to, m.path)
	if err != nil {
		return 0, err
	}
	missing, err = examine(m.t.Context(), path, m.d.known(o.after))
	if err == nil {
		err = os.RemoveAll(to)
	}
	return missing, err
}

// examine looks a database over after a crash: its file, every chain, every
// acknowledged change, and that it goes on.
func examine(ctx context.Context, path string, k known) (missing int, err error) {
	// Nothing of an image has to outlive the test.
	s, err := sqlite.Open(ctx, path, sqlite.Options{Durability: sqlite.Ephemeral, Readers: 1})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.CheckIntegrity(ctx); err != nil {
		return 0, err
	}
	found := make(map[acked]bool)
	page, err := s.Threads(ctx, selvage.ThreadQuery{})
	if err != nil {
		return 0, err
	}
	for _, thread := range page.Items {
		if k.deleting[thread.ID] {
			missing++ // the deletion, which was acknowledged
		}
		if err := verifyThread(ctx, s, thread, found); err != nil {
			return 0, err
		}
	}
	for _, c := range k.changes {
		if _, deleted := k.deleting[c.thread]; !deleted && !found[c] {
			missing++
		}
	}
	_, err = s.Append(ctx, "afterwards", say("it goes on"), selvage.New())
	return missing, err
}

// verifyThread proves a chain and that the head agrees with it, and notes what
// its changes say.
func verifyThread(ctx context.Context, s *sqlite.Store, thread selvage.Thread, found map[acked]bool) error {
	version, prev, limit := selvage.Version(0), selvage.Hash{}, selvage.MaxPage
	page, err := s.Changes(ctx, thread.ID, selvage.ChangeQuery{Limit: &limit})
	if err != nil {
		return err
	}
	for _, c := range page.Items {
		if version++; c.Version != version {
			return fmt.Errorf("version %d of thread %s stands where %d should", c.Version, thread.ID, version)
		}
		if err := c.Verify(prev); err != nil {
			return err
		}
		prev = c.Hash
		messages, err := c.AddedMessages()
		if err != nil {
			return err
		}
		if len(messages) > 0 {
			found[acked{thread.ID, c.Version, messages[0].Text()}] = true
		}
	}
	if version != thread.Version {
		return fmt.Errorf("the log of thread %s ends at %d; its head is at %d", thread.ID, version, thread.Version)
	}
	_, err = s.Load(ctx, thread.ID, selvage.LoadOptions{})
	return err
}

const images = 300

// TestPowerLoss cuts the power at 300 moments and drops, keeps or tears what
// was not synced.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	const seed = 20260713
	m := newMachine(t, sqlite.Options{Readers: 2})
	m.work()
	fates := make(map[fate]int)
	for _, o := range m.d.outages(soak.Times(images), seed) {
		missing, err := m.suffer(o)
		if err != nil || missing > 0 {
			t.Fatalf("%v: %d acknowledged changes are missing, %v", o, missing, err)
		}
		fates[o.fate]++
	}
	t.Logf("seed %d, %d events: %v", seed, m.d.len(), fates)
}
