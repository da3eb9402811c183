package runner_test

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/store/sqlite"
	"github.com/selvagehq/selvage/tool"
)

// A thread of 10 000 messages of 1 KiB is gone on with in less than 30 MB more
// than an empty one: a run loads its window, not the thread. It counts all that
// is allocated on the way, collected since or not, so it has the process to
// itself.
func TestMemoryOfALongThread(t *testing.T) {
	const most = 30 << 20
	path := filepath.Join(t.TempDir(), "long.db")
	store, err := sqlite.Open(t.Context(), path, sqlite.Options{Durability: sqlite.Ephemeral})
	if err != nil {
		t.Fatal(err)
	}
	filler := strings.Repeat("x", 1000)
	for range 100 {
		set := selvage.ChangeSet{}
		for range 100 {
			set.Messages = append(set.Messages, selvage.UserText(filler))
		}
		pre := selvage.Any()
		if _, err := store.Load(t.Context(), "long", selvage.LoadOptions{}); err != nil {
			pre = selvage.New()
		}
		if _, err := store.Append(t.Context(), "long", set, pre); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	empty := allocatedBy(t, path, "empty")
	long := allocatedBy(t, path, "long")
	t.Logf("a run allocates %d KiB on an empty thread, %d KiB on a long one", empty>>10, long>>10)
	if long > empty+most {
		t.Errorf("%d MB more than on an empty thread, want at most %d", (long-empty)>>20, most>>20)
	}
	if long < 200*1000 {
		t.Errorf("only %d bytes allocated: the window was not loaded, so this measures nothing", long)
	}
}

// allocatedBy opens the store anew, runs on a thread and returns how many
// bytes that allocated.
func allocatedBy(t *testing.T, path string, id selvage.ThreadID) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	store, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{echoTool("echo", selvage.EffectOnce)}})
	if _, err := r.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustRun(t, r, id, oneCall)
	runtime.ReadMemStats(&after)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return after.TotalAlloc - before.TotalAlloc
}
