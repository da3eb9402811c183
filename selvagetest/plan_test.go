package selvagetest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/soak"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/selvagetest"
	"github.com/selvagehq/selvage/tool"
	"github.com/selvagehq/selvage/tool/builtin"
)

// planSteps is how long the plan is, planKills how often the agent is killed on
// the way.
const planSteps, planKills = 200, 100

// step is a call of append_file that the plan asks for.
type step struct {
	Path string `json:"path"`
	Line string `json:"line"`
}

// planModel has every step of the plan written down, one a turn. It sees how
// far it has come by the last call that it made.
type planModel struct{ steps int }

func (planModel) Name() string { return "test/plan" }

func (p planModel) Stream(_ context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		done := 0
		for i := range req.Messages {
			for _, c := range req.Messages[i].ToolCalls {
				var s step
				if json.Unmarshal(c.Arguments, &s) == nil {
					_, _ = fmt.Sscanf(s.Line, "step %d", &done)
				}
			}
		}
		if done == p.steps {
			_ = yield(model.Chunk{Text: "All is done."}, nil) && yield(model.Chunk{Finish: model.FinishStop}, nil)
			return
		}
		args, _ := json.Marshal(step{Path: "plan", Line: fmt.Sprintf("step %d", done+1)})
		call := &selvage.ToolCall{ID: fmt.Sprintf("step-%d", done+1), Name: "append_file", Arguments: args}
		_ = yield(model.Chunk{ToolCall: call}, nil) && yield(model.Chunk{Finish: model.FinishToolCalls}, nil)
	}
}

// early is the planted mistake: the tool acts before its call is journalled.
type early struct{ tool.Tool }

func (e early) Gate(ctx context.Context, c *tool.Call) error {
	_, err := e.Tool.Run(ctx, c)
	return err
}

func (e early) Run(context.Context, *tool.Call) (selvage.ToolResult, error) {
	return tool.Text("it was done before"), nil
}

// planner is the agent that carries the plan out.
func planner(steps int, planted bool) selvagetest.Agent {
	return func(life *selvagetest.Life) (runner.Options, error) {
		file, err := builtin.Named("append_file", builtin.Options{Root: life.Dir})
		if err != nil {
			return runner.Options{}, err
		}
		if planted {
			file = early{file}
		}
		return runner.Options{Model: planModel{steps}, Tools: []tool.Tool{file}, MaxTurns: -1}, nil
	}
}

// linesOf counts the lines that the plan has left in the folder of an agent.
func linesOf(t *testing.T, dir string) map[string]int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "plan"))
	if err != nil {
		t.Fatal(err)
	}
	counts := make(map[string]int)
	for line := range bytes.Lines(data) {
		counts[string(bytes.TrimSpace(line))]++
	}
	return counts
}

// A plan of 200 steps is carried out by an agent that is killed a hundred
// times: each step once, none missing, and of each that was interrupted
// somebody was asked.
func TestPlan(t *testing.T) {
	t.Parallel()
	steps := soak.Times(planSteps)
	found := selvagetest.Crash(t, planner(steps, false), selvagetest.Script{Inputs: []string{"Carry out the plan."}, Kills: soak.Times(planKills), Seed: 7})
	if found.Kills != soak.Times(planKills) || found.Unknown < found.Kills/10 {
		t.Errorf("it was killed %d times and asked about %d calls", found.Kills, found.Unknown)
	}
	counts := linesOf(t, found.Dir)
	for n := 1; n <= steps; n++ {
		if line := fmt.Sprintf("step %d", n); counts[line] != 1 {
			t.Errorf("%s was done %d times", line, counts[line])
		}
	}
	if len(counts) != steps {
		t.Errorf("%d different steps were done, the plan has %d", len(counts), steps)
	}
	t.Logf("killed %d times, asked about %d calls", found.Kills, found.Unknown)
}

// The test above sees an agent that acts before it has journalled.
func TestPlanSeesTheMistake(t *testing.T) {
	t.Parallel()
	found := selvagetest.Examine(t, planner(planSteps, true), selvagetest.Script{Inputs: []string{"Carry out the plan."}, Kills: planKills, Seed: 7})
	for _, n := range linesOf(t, found.Dir) {
		if n > 1 {
			return
		}
	}
	t.Error("no step was done twice, so this proves nothing")
}
