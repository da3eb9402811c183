package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/fixture"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/inmem"
	"github.com/selvagehq/selvage/tool"
)

// triedDocument is what thread try prints.
type triedDocument struct {
	ID     selvage.ThreadID `json:"id"`
	At     selvage.Version  `json:"at"`
	Fork   selvage.ThreadID `json:"fork,omitempty"` // where it is kept
	Was    triedRun         `json:"was"`
	Is     triedRun         `json:"is"`
	State  state.Patch      `json:"state"` // makes the state that is of the one that was
	Others []fixtureChange  `json:"differences"`
	// Stubbed are the calls of tools of effect once that were not run.
	Stubbed []string `json:"stubbed"`
}

// fixtureChange is a difference in JSON.
type fixtureChange = fixture.Difference

// triedRun is one of the two runs that are compared.
type triedRun struct {
	RunID   selvage.RunID    `json:"run_id"`
	Model   string           `json:"model"`
	Outcome *selvage.Outcome `json:"outcome"`           // null if it is not done
	Waiting *selvage.Waiting `json:"waiting,omitempty"` // what it waits for
	Text    string           `json:"text"`
	Steps   int              `json:"steps"`
	Calls   int              `json:"calls"`
	Usage   selvage.Usage    `json:"usage"`
	Cost    selvage.Money    `json:"cost"`
}

// trying is one call of thread try.
type trying struct {
	*app
	at   version
	keep string
}

func (a *app) threadTryCommand() *cobra.Command {
	t := &trying{app: a}
	cmd := &cobra.Command{
		Use: "try ID", Short: "Lead a run of a thread again, with another model, and compare", Args: exactly(1, "the id of a thread"), ValidArgsFunction: a.completeThreads,
		Long: `Lead the run again that was under way at a version, or the next one, or the last
one if no version is given, on a copy of the thread as it was before it, and tell in what the outcome, the answers,
the cost and the state differ. Flags change what the run is made of; what they do
not name is as it was.

Tools of effect once are not run: they answer what they answered then, or that
they were not run. Others run. The copy is in memory and nothing is left of it;
--keep ID makes it a fork of that id.`,
		Example: `  selvage thread try t1 --model anthropic/claude-sonnet-4-5
  selvage thread try t1 --at 12 --system @shorter.txt --keep t1-shorter`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changeThread(cmd.Context(), args[0], t.run)
		},
	}
	f := cmd.Flags()
	f.Var(&t.at, "at", "the run that was under way at this `VERSION`, or the next one")
	f.StringVar(&t.keep, "keep", "", "the `ID` of a new thread to do it on, which stays")
	registerMakeup(cmd, a)
	a.registerRecord(cmd)
	return cmd
}

// registerMakeup adds the flags of what a run is made of.
func registerMakeup(cmd *cobra.Command, a *app) {
	f := cmd.Flags()
	f.String("model", "", "`PROVIDER/NAME` of the model")
	f.StringArray("tool", nil, "let the model call this tool, `NAME`; repeatable; none takes all away")
	f.String("system", "", "system prompt: `TEXT`, or @FILE")
	f.Var(bound(), "max-turns", "at most this `NUMBER` of answers of the model; none is no limit")
	f.Var(allowance(), "max-spend", "at most this many `DOLLARS`; none is no limit")
	f.Var(duration(), "max-duration", "end the run after this `DURATION`")
	_ = cmd.RegisterFlagCompletionFunc("tool", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return a.toolNames(), cobra.ShellCompDirectiveNoFileComp
	}) // it fails only for a flag that is not there
}

func (t *trying) run(ctx context.Context, store selvage.Store, id selvage.ThreadID) error {
	was, at, err := t.find(ctx, store, id)
	if err != nil {
		return err
	}
	c := &conversation{app: t.app, show: newTeller(t.app)}
	last := makeupOf(was.Spec)
	last.agent = was.AgentID
	if c.made, _, err = t.resolveMakeup(&last); err != nil {
		return err
	}
	doc := &triedDocument{ID: id, At: at, Was: tried(was), State: state.Patch{}, Others: []fixtureChange{}, Stubbed: []string{}}
	on, clean, err := t.ground(ctx, store, id, at)
	if err != nil {
		return err
	}
	defer clean()
	c.store, c.id = on.store, on.id
	c.stub = func(tools []tool.Tool) []tool.Tool { return stubbed(tools, was) }
	if err := c.assemble(ctx, runner.Queue); err != nil {
		return err
	}
	is, waiting, err := c.lead(ctx, was)
	if err != nil {
		return err
	}
	if doc.Is = tried(is); waiting != nil {
		doc.Is.Waiting = waiting
	}
	if t.keep != "" {
		doc.Fork = on.id
	}
	for _, call := range is.Calls {
		if call.Effect == selvage.EffectOnce {
			doc.Stubbed = append(doc.Stubbed, call.Name)
		}
	}
	doc.Others = append(doc.Others, fixture.Compare(was, is)...)
	doc.State = append(doc.State, state.Diff(was.After.Own(), is.After.Own())...)
	return t.show(doc, func() { t.print(doc) })
}

// find returns the run that is tried, and the version before it.
func (t *trying) find(ctx context.Context, store selvage.Store, id selvage.ThreadID) (*fixture.Run, selvage.Version, error) {
	f, err := fixture.Record(ctx, store, id)
	if err != nil {
		return nil, 0, err
	}
	if t.at.v == 0 {
		if len(f.Runs) == 0 {
			return nil, 0, hinted(fmt.Errorf("thread %q has no run to try again: %w", id, selvage.ErrNotFound), "`"+t.again("thread", "log", quote(string(id)))+"` shows what it has")
		}
		last := &f.Runs[len(f.Runs)-1]
		return last, last.Begun - 1, nil
	}
	run, err := f.Find(t.at.v)
	if err != nil {
		return nil, 0, err
	}
	return run, run.Begun - 1, nil
}

// tried is what the comparison tells of a run.
func tried(r *fixture.Run) triedRun {
	out := triedRun{RunID: r.ID, Outcome: r.Outcome, Text: r.Text(), Steps: r.Steps, Calls: len(r.Calls), Usage: r.Usage, Cost: r.Cost}
	if r.Spec != nil {
		out.Model = r.Spec.Model
	}
	return out
}

// copyOf is a thread that a run is tried on.
type copyOf struct {
	store selvage.Store
	id    selvage.ThreadID
}

// ground makes the thread to try a run on: in memory, or a fork that stays.
func (t *trying) ground(ctx context.Context, store selvage.Store, id selvage.ThreadID, at selvage.Version) (copyOf, func(), error) {
	if t.keep != "" {
		keep, err := threadID(t.keep)
		if err == nil && at > 0 {
			_, err = t.fork(ctx, store, selvage.ForkRequest{From: id, At: at, To: keep})
		}
		return copyOf{store, keep}, func() {}, err
	}
	memory := inmem.New(inmem.Options{})
	clean := func() { _ = memory.Close() } // it forgets
	if at == 0 {
		return copyOf{memory, id}, clean, nil
	}
	doc, err := store.State(ctx, id, at)
	if err != nil {
		return copyOf{}, clean, err
	}
	messages, err := collectMessages(ctx, store, id, at)
	if err != nil {
		return copyOf{}, clean, err
	}
	pre, set := selvage.New(), selvage.ChangeSet{Snapshot: &doc}
	for {
		n := min(len(messages), selvage.MaxSetMessages/10) // well below what one change takes
		set.Messages = unplaced(messages[:n])
		if _, err := memory.Append(ctx, id, set, pre); err != nil {
			return copyOf{}, clean, err
		}
		if messages = messages[n:]; len(messages) == 0 {
			return copyOf{memory, id}, clean, nil
		}
		pre, set = selvage.Any(), selvage.ChangeSet{}
	}
}

// unplaced returns messages as they are appended: what a store gives them is
// left out.
func unplaced(messages []selvage.Message) []selvage.Message {
	out := make([]selvage.Message, len(messages))
	for i, m := range messages {
		m.Seq = 0
		out[i] = m
	}
	return out
}

// lead leads the run that is tried.
func (c *conversation) lead(ctx context.Context, was *fixture.Run) (*fixture.Run, *selvage.Waiting, error) {
	input := unplaced(was.Input)
	for i := range input {
		input[i].RunID = ""
	}
	result, err := c.runner.Run(ctx, c.id, runner.Input{Messages: input, State: was.State})
	var ended *runner.FailedError
	if err != nil && !errors.As(err, &ended) {
		return nil, nil, err
	}
	f, err := fixture.Record(ctx, c.store, c.id)
	if err != nil {
		return nil, nil, err
	}
	for i := range f.Runs {
		if f.Runs[i].ID == result.RunID {
			return &f.Runs[i], result.Waiting, nil
		}
	}
	return nil, nil, fmt.Errorf("run %s is not on thread %q: %w", result.RunID, c.id, selvage.ErrNotFound)
}

// stubbed keeps tools of effect once from having it.
func stubbed(tools []tool.Tool, was *fixture.Run) []tool.Tool {
	player := fixture.NewPlayer(was)
	out := make([]tool.Tool, len(tools))
	for i, t := range tools {
		spec := t.Spec()
		if out[i] = t; spec.Effect == selvage.EffectOnce {
			out[i] = player.Stub(spec, func(c *tool.Call) selvage.ToolResult {
				return tool.Text(fmt.Sprintf("[%s was not run: this is a trial]", c.Name))
			})
		}
	}
	return out
}

func (t *trying) print(doc *triedDocument) {
	t.out.line("%-9s %-32s %s", "", "was", "is")
	row := func(name, was, is string) { t.out.line("%-9s %-32s %s", name, oneLine(was), oneLine(is)) }
	row("model", doc.Was.Model, doc.Is.Model)
	row("outcome", triedOutcome(&doc.Was), triedOutcome(&doc.Is))
	row("turns", fmt.Sprint(doc.Was.Steps), fmt.Sprint(doc.Is.Steps))
	row("calls", fmt.Sprint(doc.Was.Calls), fmt.Sprint(doc.Is.Calls))
	row("tokens", fmt.Sprintf("%d in, %d out", doc.Was.Usage.InputTokens, doc.Was.Usage.OutputTokens), fmt.Sprintf("%d in, %d out", doc.Is.Usage.InputTokens, doc.Is.Usage.OutputTokens))
	row("cost", "$"+doc.Was.Cost.String(), "$"+doc.Is.Cost.String())
	for _, d := range doc.Others {
		t.out.line("")
		t.out.line("%s", d.What)
		t.out.line("- %s", oneLine(d.Was))
		t.out.line("+ %s", oneLine(d.Is))
	}
	if len(doc.Others) == 0 {
		t.note("nothing came out differently")
	}
	if len(doc.Stubbed) > 0 {
		t.note("not run, because their effect is once: %s", strings.Join(doc.Stubbed, ", "))
	}
	if doc.Fork != "" {
		t.note("it is kept: %s", t.again("thread", "show", quote(string(doc.Fork))))
	}
}

func triedOutcome(r *triedRun) string {
	switch {
	case r.Waiting != nil:
		return "waits: " + string(r.Waiting.Reason)
	case r.Outcome == nil:
		return "not done"
	case r.Outcome.Code != "":
		return string(r.Outcome.Kind) + " (" + r.Outcome.Code + ")"
	}
	return string(r.Outcome.Kind)
}
