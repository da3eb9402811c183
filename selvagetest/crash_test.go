package selvagetest_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model/sim"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/selvagetest"
	"github.com/selvagehq/selvage/tool"
)

type payIn struct {
	To string `json:"to"`
}

// payer is an agent that pays. Its tool says what paying twice would do.
func payer(effect selvage.Effect, unknown selvage.OnUnknown, more ...runner.Options) selvagetest.Agent {
	return func(life *selvagetest.Life) (runner.Options, error) {
		pay := tool.New("pay", "Pays somebody.", func(_ context.Context, c *tool.Call, in payIn) (string, error) {
			return "paid " + in.To, life.Effect("pay " + in.To)
		}, tool.Options{Effect: effect, OnUnknown: unknown})
		look := tool.Func("look", "Looks.", func(context.Context, struct{}) (string, error) { return "seen", nil }, tool.Options{Effect: selvage.EffectNone})
		echo, err := sim.New("echo")
		return runner.Options{Model: echo, Tools: []tool.Tool{pay, look}}, err
	}
}

// An agent that is killed anywhere pays once.
func TestCrash(t *testing.T) {
	t.Parallel()
	found := selvagetest.Crash(t, payer(selvage.EffectOnce, tool.AskUnknown), selvagetest.Script{
		Inputs: []string{`call pay {"to":"Ada"} && look {}`, `call look {} && pay {"to":"Grace"}`, "thank you"},
		Want:   []string{"pay Ada", "pay Grace"},
	})
	if found.Points < 20 || found.Kills != found.Points {
		t.Errorf("%d processes were killed at %d places, want one at each of more than 20", found.Kills, found.Points)
	}
	if found.Unknown == 0 {
		t.Error("no call was of unknown outcome, so none was killed while it ran")
	}
	t.Logf("%+v", found)
}

// A tool that says that paying twice is paying once is paid twice, and that is
// found.
func TestCrashFindsRepetition(t *testing.T) {
	t.Parallel()
	found := selvagetest.Examine(t, payer(selvage.EffectIdempotent, ""), selvagetest.Script{Inputs: []string{`call pay {"to":"Ada"}`}, Want: []string{"pay Ada"}})
	if !mentions(found.Repeated, `(after pay ran): effect "pay Ada" happened 2 times`) || found.OK() {
		t.Errorf("what was found is %+v", found)
	}
}

// An effect that is wanted and does not come is lost.
func TestCrashFindsLoss(t *testing.T) {
	t.Parallel()
	found := selvagetest.Examine(t, payer(selvage.EffectOnce, tool.FailUnknown), selvagetest.Script{Inputs: []string{`call pay {"to":"Ada"}`}, Want: []string{"pay Ada"}})
	if !mentions(found.Lost, `(before pay runs): effect "pay Ada" did not happen`) || len(found.Repeated) > 0 {
		t.Errorf("what was found is %+v", found)
	}
}

func mentions(all []string, text string) bool {
	return slices.ContainsFunc(all, func(s string) bool { return strings.HasPrefix(s, "killed at place ") && strings.Contains(s, text) })
}
