package runner_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

func bumps(t testing.TB, texts ...string) runner.ResumeOptions {
	t.Helper()
	var opts runner.ResumeOptions
	for _, text := range texts {
		b, err := runner.ParseBump(text)
		if err != nil {
			t.Fatal(err)
		}
		opts.Bump = append(opts.Bump, b)
	}
	return opts
}

// A run that reached a limit goes on only when it is raised far enough, and
// counts on from where it was (rye 45).
func TestResumeBeyondALimit(t *testing.T) {
	t.Parallel()
	store := newSpy()
	limits := selvage.Limits{Turns: new(3), Spend: new(selvage.Money(17_000))}
	r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{echoTool("echo", selvage.EffectNone)}, Limits: limits})
	first := mustRun(t, r, "t", loopNine)
	if first.Waiting == nil || first.Waiting.LimitCode != selvage.LimitTurns {
		t.Fatalf("%+v", first)
	}
	refused := []struct {
		name string
		opts runner.ResumeOptions
		want string
	}{
		{"plain", bumps(t), "limit_still_exceeded: turns_exceeded at 3 of 3"},
		{"another limit", bumps(t, "spend=+1"), "limit_still_exceeded: turns_exceeded at 3 of 3"},
		{"one that there is not", bumps(t, "tokens=+1"), "the run has no limit of tokens"},
		{"downwards", bumps(t, "turns=2"), "the limit of turns is 3 already"},
		{"as it is", bumps(t, "turns=3"), "limit_still_exceeded"},
	}
	version := load(t, store, "t").Thread.Version
	for _, tt := range refused {
		_, err := r.Resume(t.Context(), first.RunID, tt.opts)
		if !errors.Is(err, selvage.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want ... %s", tt.name, err, tt.want)
		}
	}
	var limit *runner.LimitError
	if _, err := r.Resume(t.Context(), first.RunID, bumps(t)); !errors.As(err, &limit) || limit.Bump() != "turns=+3" || !strings.Contains(err.Error(), "--bump turns=+3") {
		t.Errorf("error %v", err)
	}
	if now := load(t, store, "t").Thread.Version; now != version {
		t.Errorf("refusals made versions %d to %d", version+1, now)
	}
	second, err := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{echoTool("echo", selvage.EffectNone)}}).Resume(t.Context(), first.RunID, bumps(t, "turns=+2", "spend=0.000018"))
	if err != nil || second.Waiting == nil || second.Steps != 4 || second.Waiting.LimitCode != selvage.LimitSpend || second.RunID != first.RunID || second.Cost <= first.Cost {
		t.Fatalf("%+v %+v, %v", second, second.Waiting, err)
	}
	run := load(t, store, "t").OpenRun
	if run.Limits == nil || *run.Limits.Turns != 5 || *run.Limits.Spend != 18_000 || *run.Spec.Limits.Turns != 3 {
		t.Errorf("in force: %+v", run.Limits)
	}
	last, err := r.Resume(t.Context(), first.RunID, bumps(t, "turns=100", "spend=+1"))
	if err != nil || last.Outcome.Kind != selvage.OutcomeCompleted || last.Text != "Done." || last.Steps != 10 {
		t.Errorf("%+v, %v", last, err)
	}
	whole := mustRun(t, newRunner(t, runner.Options{Store: newSpy(), Tools: []tool.Tool{echoTool("echo", selvage.EffectNone)}}), "t", loopNine)
	if last.Cost != whole.Cost || last.Usage != whole.Usage {
		t.Errorf("in three parts it cost %s, at once %s", last.Cost, whole.Cost)
	}
	checkComplete(t, store, "t")
}

// What is asked to go on after a crash may be given more too.
func TestBumpAfterACrash(t *testing.T) {
	t.Parallel()
	store := newSpy()
	opts := runner.Options{Store: store, Tools: []tool.Tool{echoTool("echo", selvage.EffectNone)}, Limits: selvage.Limits{Turns: new(3)}}
	die(t, store, opts, loopNine, 4)
	id := load(t, store, "t").OpenRun.ID
	result, err := newRunner(t, opts).Resume(t.Context(), id, bumps(t, "turns=+9"))
	if err != nil || result.Outcome.Kind != selvage.OutcomeCompleted || result.Steps != 10 {
		t.Errorf("%+v %+v, %v", result, result.Waiting, err)
	}
}

// The time in which a run waits is not the run's.
func TestWaitingTakesNoTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newSpy()
		r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{slowEcho}, Limits: selvage.Limits{Duration: new(25 * time.Second)}, Stop: selvage.StopRules{Timeout: new(80 * time.Second)}})
		first := mustRun(t, r, "t", loopNine)
		for _, want := range []string{"50s", "1m10s"} {
			time.Sleep(24 * time.Hour)
			result, err := r.Resume(t.Context(), first.RunID, bumps(t, "duration=+20s"))
			if err != nil || result.Waiting == nil || string(result.Waiting.Current) != want {
				t.Fatalf("%+v %+v, %v", result, result.Waiting, err)
			}
		}
		time.Sleep(24 * time.Hour)
		result, err := r.Resume(t.Context(), first.RunID, bumps(t, "duration=+24h"))
		if err != nil || result.Outcome.Code != "timeout" || result.Steps != 8 {
			t.Errorf("%+v, %v", result, err)
		}
	})
}

// What a child may spend is a part of what its parent may: it is raised within
// that, and in its parent's budget.
func TestBumpOfAChild(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newSpy())
	h.opts.Limits.Spend = new(selvage.Money(100_000))
	parent, child := h.waits(`call spawn_agent {"prompt":"loop 2 spawn_agent {\"prompt\":\"hi\"}","max_spend":"0.000006"}`)
	if child.Waiting.LimitCode != selvage.LimitSpend {
		t.Fatalf("%+v", child.Waiting)
	}
	if _, err := h.runner().Resume(t.Context(), child.ID, bumps(t, "spend=+0.0001")); !errors.Is(err, selvage.ErrInvalid) || !strings.Contains(err.Error(), "spend_exceeded: the run may spend $0.0001") {
		t.Errorf("beyond what the parent has: %v", err)
	}
	if limits := h.find(child.ID).Limits; limits != nil {
		t.Errorf("raised nevertheless: %+v", limits)
	}
	result, err := h.runner().Resume(t.Context(), child.ID, bumps(t, "spend=+0.00005"))
	if err != nil || result.Outcome.Kind != selvage.OutcomeCompleted {
		t.Fatalf("%+v, %v", result, err)
	}
	result, err = h.runner().Resume(t.Context(), parent.ID, runner.ResumeOptions{})
	if err != nil || result.Text != "Done: Done." {
		t.Errorf("%+v, %v", result, err)
	}
	s := sheetOf(t, h.store, "t", parent.ID)
	if e := s.Children[child.ID]; *e.Reserved.Spend != 56_000 || e.Spent.Spend != sheetOf(t, h.store, child.ThreadID, child.ID).Total().Spend || e.Spent.Spend <= h.find(child.ID).Cost {
		t.Errorf("%+v", e)
	}
}

// Nor is the time before its limits are raised while it waits for a decision.
func TestBumpWhileWaitingTakesNoTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newSpy()
		opts := runner.Options{Store: store, Tools: []tool.Tool{guardedEcho()}, Limits: selvage.Limits{Duration: new(time.Minute)}}
		waits := suspended(t, newRunner(t, opts), "t", `call guarded {"text":"a"}`)
		time.Sleep(24 * time.Hour)
		if result, err := newRunner(t, opts).Resume(t.Context(), waits.RunID, bumps(t, "duration=+1m")); err != nil || result.Waiting == nil {
			t.Fatalf("%+v, %v", result, err)
		}
		time.Sleep(24 * time.Hour)
		decide(t, store, waits.RunID, approve, "")
		result, err := newRunner(t, opts).Resume(t.Context(), waits.RunID, runner.ResumeOptions{})
		if err != nil || result.Text != "Done: a" {
			t.Errorf("%+v %+v, %v", result, result.Waiting, err)
		}
	})
}
