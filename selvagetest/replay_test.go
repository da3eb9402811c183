package selvagetest_test

import (
	"bytes"
	"context"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/fixture"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/sim"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/selvagetest"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/inmem"
	"github.com/selvagehq/selvage/tool"
	"github.com/selvagehq/selvage/tool/builtin"
)

// production is a thread as an agent has left it, with a note in its state, an
// effect, and somebody else's changes in between; and its export.
func production(t *testing.T) string {
	t.Helper()
	ctx, store := t.Context(), inmem.New(inmem.Options{})
	defer func() { _ = store.Close() }()
	note, err := builtin.Named("note", builtin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sold := 0
	sell := tool.Func("sell", "", func(_ context.Context, in payIn) (string, error) {
		sold++
		return strings.Repeat("sold to "+in.To+" ", sold), nil
	}, tool.Options{Effect: selvage.EffectOnce, OnUnknown: tool.FailUnknown})
	echo, err := sim.New("echo")
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(runner.Options{Store: store, Model: echo, Tools: []tool.Tool{note, sell}, System: "be kind", AgentID: "weaver"})
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{`call note {"text":"milk"} && sell {"to":"Ada"}`, "hello", `call sell {"to":"Ada"} && note {"text":"eggs"} && nothing {}`} {
		if _, err := r.Run(ctx, "t", runner.Text(text)); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			edit := selvage.ChangeSet{Patches: []selvage.StatePatch{{Source: "editor", Ops: state.Patch{state.Set("/edited", state.Bool(true))}}}}
			if _, err := store.Append(ctx, "t", edit, selvage.Any()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return exported(t, store)
}

// exported is the fixture of a thread, in a file.
func exported(t *testing.T, store selvage.Store) string {
	t.Helper()
	f, err := fixture.Record(t.Context(), store, "t")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "thread.json")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// What happened in production happens again offline, effects excepted.
func TestReplay(t *testing.T) {
	t.Parallel()
	selvagetest.Replay(t, production(t), runner.Options{})
}

// A tool that is given runs as it is today, and what it does otherwise is
// found.
func TestReplayFindsDifferences(t *testing.T) {
	t.Parallel()
	changed := tool.New("note", "", func(_ context.Context, c *tool.Call, in struct {
		Text string `json:"text"`
	}) (string, error) {
		return "Noted: " + in.Text, c.Patch(state.Set("/note", state.String(in.Text)))
	}, tool.Options{Effect: selvage.EffectIdempotent})
	all := selvagetest.Replay(&tolerant{TB: t}, production(t), runner.Options{Tools: []tool.Tool{changed}})
	var text []string
	for _, d := range all {
		text = append(text, d.String())
	}
	got := strings.Join(text, "\n")
	if len(all) != 3 || !strings.Contains(got, `state was {"edited":true,"notes":["milk"]}, and is {"edited":true,"note":"milk"}`) {
		t.Errorf("the differences are\n%s", got)
	}
}

// Another model answers otherwise.
func TestReplayWithAnotherModel(t *testing.T) {
	t.Parallel()
	all := selvagetest.Replay(&tolerant{TB: t}, production(t), runner.Options{Model: planModel{0}})
	if len(all) == 0 || all[0].What != "answer 1" || all[0].Is != `"All is done."` {
		t.Errorf("the differences are %v", all)
	}
}

// tolerant is a test that errors do not fail.
type tolerant struct{ testing.TB }

func (t *tolerant) Error(...any) {}

// interrupted is a model during whose first answer somebody else says something.
type interrupted struct {
	model.Model
	say func()
}

func (m *interrupted) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	if say := m.say; say != nil {
		m.say = nil
		say()
	}
	return m.Model.Stream(ctx, req)
}

// What others say to a run while its model answers, or a tool is at work, they
// say again, and it is answered as it was.
func TestReplaySteered(t *testing.T) {
	t.Parallel()
	for name, duringTool := range map[string]bool{"during an answer": false, "during a call": true} {
		store := inmem.New(inmem.Options{})
		say := func() {
			if _, err := store.Append(t.Context(), "t", selvage.ChangeSet{Messages: []selvage.Message{{Role: selvage.RoleUser, Content: selvage.Text("by the way")}}}, selvage.Any()); err != nil {
				t.Error(err)
			}
		}
		echo, err := sim.New("echo")
		if err != nil {
			t.Fatal(err)
		}
		opts := runner.Options{Store: store, Model: &interrupted{echo, say}}
		input := "hello"
		if duringTool {
			input, opts.Model = "call wait {}", echo
			opts.Tools = []tool.Tool{tool.Func("wait", "", func(context.Context, struct{}) (string, error) { say(); return "waited", nil }, tool.Options{Effect: selvage.EffectNone})}
		}
		r, err := runner.New(opts)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{input, "and more"} {
			if _, err := r.Run(t.Context(), "t", runner.Text(text)); err != nil {
				t.Fatal(err)
			}
		}
		file := exported(t, store)
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		read, err := fixture.Read(f)
		if err != nil || f.Close() != nil {
			t.Fatal(err)
		}
		if answers := read.Runs[0].Answers; len(answers) != 2 || len(answers[0].During) != 1 || answers[0].During[0].Text() != "by the way" || len(read.Runs[1].Before) != 0 {
			t.Errorf("%s: recorded %+v", name, read.Runs)
		}
		if d := selvagetest.Replay(t, file, runner.Options{}); len(d) != 0 {
			t.Errorf("%s: %v", name, d)
		}
	}
}
