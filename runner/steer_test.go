package runner_test

import (
	"context"
	"iter"
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
