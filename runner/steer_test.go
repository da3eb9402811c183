package runner_test

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/store/inmem"
)

// interjected is a model while whose first answer something happens.
type interjected struct {
	model.Model
	asked   int
	happens func()
}

func (m *interjected) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	if m.asked++; m.asked == 1 {
		m.happens()
	}
	return m.Model.Stream(ctx, req)
}

// What a user says while the model answers is answered in the same run.
func TestSaidMeanwhile(t *testing.T) {
	t.Parallel()
	store := inmem.New(inmem.Options{})
	m := &interjected{Model: newModel(t), happens: func() {
		if _, err := store.Append(t.Context(), "t", selvage.ChangeSet{Messages: []selvage.Message{selvage.UserText("and this")}}, selvage.Any()); err != nil {
			t.Error(err)
		}
	}}
	r := newRunner(t, runner.Options{Store: store, Model: m})
	result, err := r.Run(t.Context(), "t", runner.Text("hello"))
	if err != nil || result.Text != "You said: and this" || result.Steps != 2 {
		t.Errorf("result %+v, %v", result, err)
	}
}

// Going on with a run that somebody leads waits for it, and does not interrupt
// it, whatever new messages do.
func TestResumeInterruptsNothing(t *testing.T) {
	t.Parallel()
	store := inmem.New(inmem.Options{})
	var again *runner.Runner
	var resumed runner.Result
	var wait sync.WaitGroup
	m := &interjected{Model: newModel(t)}
	leader := newRunner(t, runner.Options{Store: store, Model: m, Owner: selvage.Owner{Name: "leader"}})
	again = newRunner(t, runner.Options{Store: store, OnActive: runner.Interrupt, Owner: selvage.Owner{Name: "other"}})
	queued := make(chan struct{})
	m.happens = func() {
		wait.Go(func() {
			for e, err := range again.ResumeStream(t.Context(), "r", runner.ResumeOptions{}) {
				var done *runner.DoneError
				if err != nil && !errors.As(err, &done) {
					t.Error(err)
				}
				if e.Kind == runner.EventQueued {
					close(queued)
				}
				if e.Result != nil {
					resumed = *e.Result
				}
			}
		})
		<-queued
	}
	in := runner.Text("call nothing {}") // so that a turn follows in which a cancel would be heard
	in.RunID = "r"
	result, err := leader.Run(t.Context(), "t", in)
	wait.Wait()
	if err != nil || result.Outcome.Kind != selvage.OutcomeCompleted || !resumed.Replayed {
		t.Errorf("result %+v, %v; resumed %+v", result, err, resumed)
	}
}

// A message interrupts the run at work, and is answered after it.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	store := inmem.New(inmem.Options{})
	begun := make(chan struct{})
	m := &interjected{Model: newModel(t), happens: func() { close(begun) }}
	leader := newRunner(t, runner.Options{Store: store, Model: m, Owner: selvage.Owner{Name: "leader"}})
	other := newRunner(t, runner.Options{Store: store, OnActive: runner.Interrupt, Owner: selvage.Owner{Name: "other"}})
	var wait sync.WaitGroup
	var first runner.Result
	wait.Go(func() { first, _ = leader.Run(t.Context(), "t", runner.Text("sleep 1h")) })
	<-begun
	result, err := other.Run(t.Context(), "t", runner.Text("hello"))
	wait.Wait()
	if err != nil || result.Text != "You said: hello" || first.Outcome.Kind != selvage.OutcomeCancelled {
		t.Errorf("result %+v, %v; the one before %+v", result, err, first)
	}
}
