package selvagetest_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/fixture"
	"github.com/selvagehq/selvage/model/sim"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/selvagetest"
	"github.com/selvagehq/selvage/store/inmem"
	"github.com/selvagehq/selvage/tool"
)

// office is a thread on which runs wait, and are decided on in every way.
type office struct {
	*testing.T
	store selvage.Store
	opts  runner.Options
}

func newOffice(t *testing.T) *office {
	t.Helper()
	echo, err := sim.New("echo")
	if err != nil {
		t.Fatal(err)
	}
	ask := tool.Func("pay", "", func(_ context.Context, in payIn) (string, error) { return "paid " + in.To, nil },
		tool.Options{Effect: selvage.EffectOnce, OnUnknown: tool.AskUnknown, Gate: func(context.Context, *tool.Call) error { return tool.Suspend(selvage.Ticket{}) }})
	look := tool.Func("look", "", func(context.Context, struct{}) (string, error) { return "seen", nil }, tool.Options{Effect: selvage.EffectNone})
	store := inmem.New(inmem.Options{})
	t.Cleanup(func() { _ = store.Close() })
	return &office{t, store, runner.Options{Store: store, Model: echo, Tools: []tool.Tool{ask, look}, Retry: runner.Retry{Attempts: 1}}}
}

// say begins a run, and does with it what then says.
func (o *office) say(text string, then ...func(id selvage.RunID, opts runner.Options) error) {
	o.Helper()
	o.sayWith(o.opts, text, then...)
}

func (o *office) sayWith(opts runner.Options, text string, then ...func(id selvage.RunID, opts runner.Options) error) {
	o.Helper()
	r, err := runner.New(opts)
	if err != nil {
		o.Fatal(err)
	}
	result, err := r.Run(o.Context(), "t", runner.Text(text))
	var failed *runner.FailedError
	if err != nil && !errors.As(err, &failed) {
		o.Fatal(err)
	}
	for _, do := range then {
		if err := do(result.RunID, opts); err != nil {
			o.Fatalf("%s: %v", text, err)
		}
	}
}

// decide decides on the last call that waits.
func (o *office) decide(d selvage.Decision) func(selvage.RunID, runner.Options) error {
	return func(id selvage.RunID, _ runner.Options) error {
		questions, err := runner.Questions(o.Context(), o.store, id)
		if err == nil {
			_, err = runner.Decide(o.Context(), o.store, id, d, questions[len(questions)-1].Ticket.ID)
		}
		return err
	}
}

func (o *office) resume(bumps ...runner.Bump) func(selvage.RunID, runner.Options) error {
	return func(id selvage.RunID, opts runner.Options) error {
		r, err := runner.New(opts)
		if err == nil {
			_, err = r.Resume(o.Context(), id, runner.ResumeOptions{Bump: bumps})
		}
		return err
	}
}

// What waited waits again when it is led again, and goes on or ends as it did,
// whoever ended it and however.
func TestReplayOfWhatWaited(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	yes, no := selvage.Decision{Action: selvage.DecisionResume}, selvage.Decision{Action: selvage.DecisionAbort, Reason: "no"}
	one := `call pay {"to":"Ada"}`
	o.say(one, o.decide(yes), o.resume())
	o.say(one, o.decide(selvage.Decision{Action: selvage.DecisionResume, Arguments: []byte(`{"to":"Grace"}`)}), o.resume())
	o.say(one, o.decide(selvage.Decision{Action: selvage.DecisionResume, Result: []byte(`"by hand"`)}), o.resume())
	o.say(one, o.decide(selvage.Decision{Action: selvage.DecisionCancel, Reason: "no"}), o.resume())
	o.say(one, o.decide(no))
	o.say(one, func(id selvage.RunID, _ runner.Options) error {
		_, err := runner.Cancel(o.Context(), o.store, id, "no need")
		return err
	})
	o.say(one) // the next one ends it
	together := o.opts
	together.ToolCalls = selvage.ToolCallsParallel
	two := `call pay {"to":"Ada"} && pay {"to":"Grace"} && look {}`
	o.sayWith(together, two, o.decide(yes), o.resume(), o.decide(yes), o.resume())
	o.sayWith(together, two, o.decide(no))
	bounded := o.opts
	bounded.MaxTurns = 2
	o.sayWith(bounded, "loop 3 look {}", o.resume(runner.Bump{Limit: "turns", By: true, Amount: 9}))
	stopped := o.opts
	stopped.Stop.Tools = []string{"look"}
	o.sayWith(stopped, "loop 3 look {}")
	o.say("fail cut")
	o.say("fail permanent")
	differences := selvagetest.Replay(t, exported(t, o.store), runner.Options{})
	if len(differences) > 0 {
		t.Errorf("%d differences", len(differences))
	}
}

// A run that was interrupted in the middle of an answer or of a call is
// interrupted there again.
func TestReplayOfWhatWasInterrupted(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ctx, cancel := context.WithCancel(t.Context())
	o.opts.Tools = append(o.opts.Tools, tool.Func("hang", "", func(within context.Context, _ struct{}) (string, error) {
		cancel()
		<-within.Done()
		return "", within.Err()
	}, tool.Options{Effect: selvage.EffectNone}))
	r, err := runner.New(o.opts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Run(ctx, "t", runner.Text("call hang {}")); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := r.Run(ctx, "t", runner.Text("stream 1000")); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	file := exported(t, o.store)
	selvagetest.Replay(t, file, runner.Options{})
	if f, err := fixture.Record(t.Context(), o.store, "t"); err != nil || len(f.Runs) != 2 ||
		slices.ContainsFunc(f.Runs, func(r fixture.Run) bool { return r.Outcome == nil || r.Outcome.Kind != selvage.OutcomeCancelled }) {
		t.Errorf("%+v, %v", f, err)
	}
}

// failing is a store that takes nothing more once it is broken, as for a process
// that is no more.
type failing struct {
	selvage.Store
	broken bool
}

func (f *failing) Unwrap() selvage.Store { return f.Store }

func (f *failing) Capability(any) bool { return false }

func (f *failing) Append(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
	if f.broken {
		return selvage.Receipt{}, &selvage.InvalidError{Field: "test", Reason: "the process is no more"}
	}
	return f.Store.Append(ctx, id, set, pre)
}

// A call of unknown outcome that a run was ended with is as unknown when it is
// led again.
func TestReplayOfTheUnknown(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	broken := &failing{Store: o.store}
	o.opts.Store = broken
	o.opts.Tools = []tool.Tool{tool.Func("ship", "", func(context.Context, struct{}) (string, error) {
		broken.broken = true
		return "shipped", nil
	}, tool.Options{Effect: selvage.EffectOnce, OnUnknown: tool.AskUnknown})}
	r, err := runner.New(o.opts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Run(t.Context(), "t", runner.Input{RunID: "lost", Messages: []selvage.Message{selvage.UserText("call ship {}")}}); err == nil {
		t.Fatal("the store took the result")
	}
	broken.broken = false
	if result, err := r.Resume(t.Context(), "lost", runner.ResumeOptions{}); err != nil || len(result.Tickets) != 1 || !result.Tickets[0].Ticket.Unknown {
		t.Fatalf("%+v, %v", result, err)
	}
	o.say("hello") // which ends it
	if d := selvagetest.Replay(t, exported(t, o.store), runner.Options{}); len(d) > 0 {
		t.Errorf("%d differences", len(d))
	}
}
