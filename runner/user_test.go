package runner_test

import (
	"context"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/store/inmem"
	"github.com/selvagehq/selvage/tool"
)

// A tool knows whom the thread belongs to, from the first turn on, also if
// somebody takes the thread while the run is under way.
func TestToolKnowsTheUser(t *testing.T) {
	t.Parallel()
	store := inmem.New(inmem.Options{})
	who := tool.New("who", "", func(_ context.Context, c *tool.Call, _ struct{}) (string, error) {
		return "user " + c.UserID, nil
	}, tool.Options{Effect: selvage.EffectNone})
	take := tool.New("take", "", func(ctx context.Context, c *tool.Call, _ struct{}) (string, error) {
		user := "bob"
		set := selvage.ChangeSet{ID: selvage.NewID(), Reason: selvage.ReasonThreadUpdated, Thread: &selvage.ThreadUpdate{UserID: &user}}
		_, err := store.Append(ctx, c.ThreadID, set, selvage.Any())
		return "taken", err
	}, tool.Options{Effect: selvage.EffectIdempotent})
	r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{who, take}})
	ann := "ann"
	for _, turn := range []struct {
		in   runner.Input
		on   selvage.ThreadID
		want string
	}{
		{runner.Input{Thread: &selvage.ThreadUpdate{UserID: &ann}, Messages: []selvage.Message{selvage.UserText("call who {}")}}, "t", "Done: user ann"},
		{runner.Text("call who {}"), "t", "Done: user ann"},
		{runner.Text("call who {}"), "nobody", "Done: user "},
		{runner.Text("call take {} && who {}"), "nobody", "Done: taken; user "},
		{runner.Text("call who {}"), "nobody", "Done: user bob"},
	} {
		result, err := r.Run(t.Context(), turn.on, turn.in)
		if err != nil || result.Text != turn.want {
			t.Errorf("on %s: %q, %v; want %q", turn.on, result.Text, err, turn.want)
		}
	}
}
