package builtin_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/inmem"
	"github.com/selvagehq/selvage/tool"
	"github.com/selvagehq/selvage/tool/builtin"
)

// mind runs the tools of a memory for one caller.
type mind struct {
	t    *testing.T
	opts builtin.Options
	call tool.Call
}

func (m *mind) do(name string, args map[string]string) selvage.ToolResult {
	m.t.Helper()
	b := named(m.t, name, m.opts)
	if args == nil {
		args = map[string]string{}
	}
	data, err := json.Marshal(args)
	if err != nil {
		m.t.Fatal(err)
	}
	c := &tool.Call{ThreadID: m.call.ThreadID, UserID: m.call.UserID, Arguments: data}
	if err := b.Check(c); err != nil {
		m.t.Fatal(err)
	}
	result, _ := b.Run(m.t.Context(), c)
	return result
}

func (m *mind) says(name string, args map[string]string, want ...string) {
	m.t.Helper()
	got := m.do(name, args)
	for _, w := range want {
		if got.Failed || !strings.Contains(got.Content.Text(), w) {
			m.t.Errorf("%s%v as %q in %q: %+v; want %q", name, args, m.call.UserID, m.call.ThreadID, got, w)
		}
	}
}

func memoryFor(t *testing.T) func(thread selvage.ThreadID, user string) *mind {
	t.Helper()
	store := inmem.New(inmem.Options{})
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	memory, ok := selvage.As[selvage.Memory](store)
	if !ok {
		t.Fatal("the store has no memory")
	}
	return func(thread selvage.ThreadID, user string) *mind {
		if thread != "" {
			title := string(thread)
			set := selvage.ChangeSet{ID: selvage.NewID(), Reason: selvage.ReasonUserMessage, Thread: &selvage.ThreadUpdate{Title: &title}}
			if _, err := store.Append(t.Context(), thread, set, selvage.New()); err != nil && !errors.Is(err, selvage.ErrAlreadyExists) {
				t.Fatal(err)
			}
		}
		return &mind{t, builtin.Options{Memory: memory}, tool.Call{ThreadID: thread, UserID: user}}
	}
}

// What is remembered is found by any of its words, and forgotten by its key.
func TestMemoryTools(t *testing.T) {
	t.Parallel()
	ann := memoryFor(t)("t1", "ann")
	ann.says("search_memory", nil, "Nothing is remembered")
	ann.says("remember", map[string]string{"text": "Ann's dog is called <Rex>", "key": "dog"}, "Remembered as dog.")
	ann.says("remember", map[string]string{"text": "Ann likes blue"}, "Remembered as ")
	ann.says("remember", map[string]string{"text": "Ann likes blue"}, "Remembered as ")
	if got := ann.do("search_memory", nil).Content.Text(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "<Rex>") {
		t.Errorf("all: %s", got)
	}
	got := ann.do("search_memory", map[string]string{"query": "which DOG, blue dog?"}).Content.Text()
	if first, _, _ := strings.Cut(got, "\n"); !strings.Contains(got, "\n") || !strings.Contains(got, "Rex") || first == "" {
		t.Errorf("search: %s", got)
	}
	if got := ann.do("search_memory", map[string]string{"query": "rex"}).Content.Text(); strings.Contains(got, "blue") {
		t.Errorf("search finds what was not asked: %s", got)
	}
	ann.says("remember", map[string]string{"text": "Ann's dog is called Max", "key": "dog"}, "dog")
	ann.says("search_memory", map[string]string{"query": "dog"}, "Max")
	ann.says("forget", map[string]string{"key": "dog"}, "Forgot dog.")
	ann.says("forget", map[string]string{"key": "dog"}, "Nothing is remembered as dog.")
	ann.says("search_memory", map[string]string{"query": "dog"}, "Nothing is remembered")
}

// Nobody meets another's memory; a thread of nobody has its own.
func TestMemoryIsTheUsers(t *testing.T) {
	t.Parallel()
	caller := memoryFor(t)
	caller("t1", "ann").says("remember", map[string]string{"text": "ann is tall"}, "Remembered")
	caller("t2", "ann").says("search_memory", nil, "ann is tall")
	caller("t1", "bob").says("search_memory", nil, "Nothing")
	caller("ann", "").says("search_memory", nil, "Nothing")
	caller("t3", "").says("remember", map[string]string{"text": "of the thread"}, "Remembered")
	caller("t3", "").says("search_memory", nil, "of the thread")
	caller("t4", "").says("search_memory", nil, "Nothing")
	caller("t3", "t3").says("search_memory", nil, "Nothing")
}

// What cannot be remembered is told, and nothing is kept.
func TestMemoryRefuses(t *testing.T) {
	t.Parallel()
	ann := memoryFor(t)("t1", "ann")
	for _, args := range []map[string]string{{"text": " "}, {"text": strings.Repeat("x", 9<<10)}, {"text": "x", "key": "a/b"},
		{"text": "x", "key": "../secret"}, {"text": "x", "key": strings.Repeat("k", 300)}} {
		if got := ann.do("remember", args); !got.Failed {
			t.Errorf("remembered %.20q under %.20q", args["text"], args["key"])
		}
	}
	ann.says("search_memory", nil, "Nothing")
	for _, m := range []*mind{{t, builtin.Options{}, tool.Call{UserID: "ann"}}, {t, ann.opts, tool.Call{}}} {
		for name, args := range map[string]map[string]string{"remember": {"text": "x"}, "search_memory": nil, "forget": {"key": "x"}} {
			if got := m.do(name, args); !got.Failed {
				t.Errorf("%s with memory %v for nobody: %+v", name, m.opts.Memory != nil, got)
			}
		}
	}
}

// However much is remembered, what is told is bounded, and says that it is not
// all.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	ann := memoryFor(t)("t1", "ann")
	for i := range 60 {
		ann.says("remember", map[string]string{"text": fmt.Sprintf("fact %d %s", i, strings.Repeat("x", 3000))}, "Remembered")
	}
	got := ann.do("search_memory", map[string]string{"query": "fact"}).Content.Text()
	if len(got) > 70<<10 || !strings.HasSuffix(got, "(There is more; ask for other words.)") {
		t.Errorf("%d bytes, ending in %q", len(got), got[len(got)-50:])
	}
}
