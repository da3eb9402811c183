package runner_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/soak"
	"github.com/selvagehq/selvage/model/sim"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/sqlite"
	"github.com/selvagehq/selvage/tool"
	"github.com/selvagehq/selvage/tool/builtin"
)

const (
	// kills is how often children are killed, all together; each of them has
	// a store of its own and as many lives as the others.
	kills, children = 200, 4
	// childEnv names the directory of the child and makes this binary it.
	childEnv = "SELVAGE_RUNNER_CRASH_CHILD"
	// planted, if set, makes the child acknowledge before it appends.
	plantedEnv = "SELVAGE_RUNNER_CRASH_PLANTED"
	// roundEnv tells the child which life it lives.
	roundEnv = "SELVAGE_RUNNER_CRASH_ROUND"

	crashThread selvage.ThreadID = "t"
)

// acknowledging is a store that reports each append it acknowledges.
type acknowledging struct {
	selvage.Store
	report io.Writer
	early  bool // the planted mistake: before the store has it
}

func (a *acknowledging) Unwrap() selvage.Store { return a.Store }

func (a *acknowledging) Append(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
	if a.early {
		before, _ := pre.Version()
		if _, err := fmt.Fprintf(a.report, "%d -\n", before+1); err != nil {
			return selvage.Receipt{}, err
		}
	}
	receipt, err := a.Store.Append(ctx, id, set, pre)
	if err == nil && !a.early {
		_, err = fmt.Fprintf(a.report, "%d %s\n", receipt.Version, receipt.Hash)
	}
	return receipt, err
}

// crashChild runs turn after turn until it is killed.
func crashChild() int {
	err := liveUntilKilled(context.Background(), os.Getenv(childEnv), os.Getenv(roundEnv), os.Getenv(plantedEnv) != "")
	fmt.Fprintln(os.Stderr, "child:", err)
	return 1
}

func liveUntilKilled(ctx context.Context, dir, round string, planted bool) error {
	store, err := sqlite.Open(ctx, filepath.Join(dir, "crash.db"), sqlite.Options{})
	if err != nil {
		return err
	}
	echo, err := sim.New("echo")
	if err != nil {
		return err
	}
	file, err := builtin.Named("append_file", builtin.Options{Root: dir})
	if err != nil {
		return err
	}
	k, err := makeKeys()
	if err != nil {
		return err
	}
	r, err := runner.New(runner.Options{Store: &acknowledging{store, os.Stdout, planted}, Model: echo, State: k.specs,
		Tools: []tool.Tool{file, k.spend()}, Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if err != nil {
		return err
	}
	// Every second life leaves what it finds to the next run.
	if strings.HasSuffix(round, "0") || strings.HasSuffix(round, "2") || strings.HasSuffix(round, "4") {
		if _, err := r.Recover(ctx); err != nil {
			return err
		}
	}
	for n := 0; ; n++ {
		say := fmt.Sprintf(`call append_file {"path":"effects","line":"%s-%d"} && spend {"n":1}`, round, n)
		result, err := r.Run(ctx, crashThread, runner.Text(say))
		if err != nil {
			return err
		}
		if want := "Done: Appended to effects.; 1"; result.Text != want {
			return fmt.Errorf("answer %q, want %q", result.Text, want)
		}
	}
}

// life is one child from its start to its death, and what it acknowledged.
func life(ctx context.Context, dir string, round int, planted bool, dice *rand.Rand) (map[selvage.Version]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-test.run=^$")
	cmd.Env = append(os.Environ(), childEnv+"="+dir, fmt.Sprintf("%s=%d", roundEnv, round))
	if planted {
		cmd.Env = append(cmd.Env, plantedEnv+"=1")
	}
	var complaints strings.Builder
	cmd.Stderr = &complaints
	reports, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	// It dies some time after some acknowledgement, at any step of a run.
	left, pause := dice.IntN(12), time.Duration(dice.IntN(4000))*time.Microsecond
	acknowledged := map[selvage.Version]string{}
	var death *time.Timer
	for lines := bufio.NewScanner(reports); lines.Scan(); left-- {
		var v selvage.Version
		var hash string
		if _, err := fmt.Sscanf(lines.Text(), "%d %s", &v, &hash); err != nil {
			break // torn by the kill
		}
		acknowledged[v] = hash
		if left == 0 {
			death = time.AfterFunc(pause, func() { _ = cmd.Process.Kill() }) // it may be dead already
		}
	}
	_ = cmd.Wait() // it was killed, which is an error
	if death == nil || death.Stop() {
		return nil, fmt.Errorf("the child ended by itself: %s", complaints.String())
	}
	return acknowledged, nil
}

// witness follows the log of a thread over the deaths of its writers.
type witness struct {
	dir     string
	acked   map[selvage.Version]string
	version selvage.Version // up to here the log was seen
	hash    selvage.Hash
	hashes  map[selvage.Version]string
	doc     state.Document
	calls   map[string]string // line to write, by call
	ends    map[string]selvage.CallStatus
}

var errLost = errors.New("an acknowledged version is not there")

// look opens the store and holds what is new in the log against what was
// acknowledged.
func (w *witness) look(ctx context.Context) (err error) {
	store, err := sqlite.Open(ctx, filepath.Join(w.dir, "crash.db"), sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	limit := selvage.MaxPage
	for query := (selvage.ChangeQuery{After: w.version, Limit: &limit}); ; {
		page, err := store.Changes(ctx, crashThread, query)
		if err != nil && !errors.Is(err, selvage.ErrNotFound) {
			return err
		}
		for i := range page.Items {
			if err := w.see(&page.Items[i]); err != nil {
				return fmt.Errorf("version %d: %w", page.Items[i].Version, err)
			}
		}
		if page.Next == "" {
			break
		}
		query.Cursor = page.Next
	}
	for v, hash := range w.acked {
		switch {
		case v > w.version:
			return fmt.Errorf("version %d: %w", v, errLost)
		case hash != "-" && w.hashes[v] != hash:
			return fmt.Errorf("version %d has hash %s, %s was acknowledged", v, w.hashes[v], hash)
		}
	}
	return w.effects()
}

// see takes in one change.
func (w *witness) see(c *selvage.Change) error {
	if c.Version != w.version+1 {
		return fmt.Errorf("it follows version %d", w.version)
	}
	if err := c.Verify(w.hash); err != nil {
		return err
	}
	set, err := c.Set()
	if err != nil {
		return err
	}
	if w.doc, err = c.ApplyState(w.doc); err != nil {
		return err
	}
	w.version, w.hash, w.hashes[c.Version] = c.Version, c.Hash, c.Hash.String()
	for _, m := range set.Messages {
		for _, call := range m.ToolCalls {
			w.calls[call.ID] = string(call.Arguments)
		}
	}
	for _, u := range set.Calls {
		w.ends[u.CallID] = u.Status
	}
	for _, u := range set.Runs {
		if u.Spec == nil {
			continue
		}
		if got := w.doc.String(); strings.Contains(got, "budget") || strings.Contains(got, state.CallsKey) {
			return fmt.Errorf("a run begins with what the run before kept: %s", got)
		}
	}
	return nil
}

// effects holds the file that the once tool writes against the log: no line
// twice, and one for each call that succeeded.
func (w *witness) effects() error {
	content, err := os.ReadFile(filepath.Join(w.dir, "effects"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	written := map[string]int{}
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSuffix(line, "\n")
		if written[line]++; written[line] > 1 {
			return fmt.Errorf("line %q was written twice", line)
		}
	}
	for id, status := range w.ends {
		_, line, _ := strings.Cut(w.calls[id], `"line":"`)
		line, _, _ = strings.Cut(line, `"`)
		if status == selvage.CallSucceeded && written[line] != 1 {
			return fmt.Errorf("call %s succeeded, and its line %q is not there", id, line)
		}
	}
	return nil
}

// quickDir is a directory in memory, where the system has one: what a store
// forces to the disk matters to a loss of power, not to the death of a process.
func quickDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "crash")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// crash kills a child again and again and returns the first promise that was
// broken, and how many kills it took.
func crash(t *testing.T, kills int, planted bool) (int, error) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	w := &witness{dir: quickDir(t), acked: map[selvage.Version]string{}, hashes: map[selvage.Version]string{},
		calls: map[string]string{}, ends: map[string]selvage.CallStatus{}}
	for round := range kills {
		acknowledged, err := life(t.Context(), w.dir, round, planted, dice)
		if err != nil {
			t.Fatal(err)
		}
		for v, hash := range acknowledged {
			w.acked[v] = hash
		}
		if err := w.look(t.Context()); err != nil {
			return round + 1, err
		}
	}
	t.Logf("%d versions, %d acknowledged, %d calls", w.version, len(w.acked), len(w.calls))
	return kills, w.last(t)
}

// last reads the whole log once more, lets the last run be recovered and finds
// nothing left open.
func (w *witness) last(t *testing.T) error {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(w.dir, "crash.db"), sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	file, err := builtin.Named("append_file", builtin.Options{Root: w.dir})
	if err != nil {
		return err
	}
	k := newKeys(t)
	r := newRunner(t, runner.Options{Store: store, State: k.specs, Tools: []tool.Tool{file, k.spend()}})
	recovered, err := r.Recover(t.Context())
	if err != nil {
		return err
	}
	for _, one := range recovered {
		for _, q := range one.Result.Tickets { // of a line that may or may not be written
			decide(t, store, one.RunID, selvage.Decision{Action: selvage.DecisionCancel}, q.Ticket.ID)
		}
	}
	if _, err := r.Recover(t.Context()); err != nil {
		return err
	}
	// It may have died in a call of which people are asked what became: its run
	// waits for them, and the next one ends it.
	if _, err := r.Run(t.Context(), crashThread, runner.Text("hello")); err != nil {
		return err
	}
	verify(t, store, crashThread)
	checkComplete(t, store, crashThread)
	return nil
}

// An acknowledged version survives the death of its process, whenever that
// happens; nothing is applied twice and no effect is repeated.
func TestKilled(t *testing.T) {
	t.Parallel()
	for i := range children {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			if n, err := crash(t, soak.Times(kills/children), false); err != nil {
				t.Fatalf("after %d kills: %v", n, err)
			}
		})
	}
}

// The test above notices a store that acknowledges too early.
func TestKilledNoticesEarlyAcknowledgement(t *testing.T) {
	t.Parallel()
	n, err := crash(t, kills, true)
	if !errors.Is(err, errLost) {
		t.Fatalf("after %d kills of a child that acknowledges too early: %v, want a lost version", n, err)
	}
	t.Logf("noticed after %d kills", n)
}
