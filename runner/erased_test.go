package runner_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// What was erased is shown as such, and never without content or arguments,
// which providers refuse.
func TestWindowShowsWhatWasErased(t *testing.T) {
	t.Parallel()
	store := newSpy()
	echo := tool.New("echo", "", func(_ context.Context, _ *tool.Call, in struct {
		Text string `json:"text"`
	}) (string, error) {
		return in.Text, nil
	}, tool.Options{Effect: selvage.EffectNone})
	r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{echo}})
	mustRun(t, r, "t", "remember SECRET-1")
	mustRun(t, r, "t", `call echo {"text":"SECRET-2"}`)
	var ids []string
	for _, m := range load(t, store, "t").Messages {
		ids = append(ids, m.ID)
	}
	eraser, _ := selvage.As[selvage.Eraser](store)
	if _, err := eraser.Erase(t.Context(), "t", selvage.EraseRequest{Messages: ids}); err != nil {
		t.Fatal(err)
	}
	if result := mustRun(t, r, "t", "context"); !strings.Contains(result.Text, `first "[erased]"`) {
		t.Errorf("the model saw %q", result.Text)
	}
	if result := mustRun(t, r, "t", "recall"); strings.Contains(result.Text, "SECRET") {
		t.Errorf("the model remembers %q", result.Text)
	}
	verify(t, store, "t")
}

// A call that waits and was erased meanwhile is not run: nobody approved other
// arguments than those it had. With arguments of the decision, or a result, it
// goes on.
func TestErasedCallIsNotRun(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		d    selvage.Decision
		text string
		ran  []string
	}{
		"approved":       {approve, "Done: deploy was not run: its arguments were erased", nil},
		"with arguments": {selvage.Decision{Action: selvage.DecisionResume, Arguments: json.RawMessage(`{"to":"test"}`)}, "Done: deployed", []string{"test"}},
		"with a result":  {selvage.Decision{Action: selvage.DecisionResume, Result: json.RawMessage(`"by hand"`)}, "Done: by hand", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newSpy()
			var ran []string
			opts := runner.Options{Store: store, Tools: []tool.Tool{tool.Func("deploy", "Deploys, to production if nothing is said.",
				func(_ context.Context, in struct {
					To string `json:"to,omitempty"`
				}) (string, error) {
					ran = append(ran, in.To)
					return "deployed", nil
				}, tool.Options{Effect: selvage.EffectNone, Gate: func(context.Context, *tool.Call) error { return tool.Suspend(selvage.Ticket{}) }})}}
			waits := suspended(t, newRunner(t, opts), "t", `call deploy {"to":"staging"}`)
			eraser, _ := selvage.As[selvage.Eraser](store)
			if _, err := eraser.Erase(t.Context(), "t", selvage.EraseRequest{Messages: []string{load(t, store, "t").Messages[1].ID}}); err != nil {
				t.Fatal(err)
			}
			decide(t, store, waits.RunID, tt.d, "")
			result, err := newRunner(t, opts).Resume(t.Context(), waits.RunID, runner.ResumeOptions{})
			if err != nil || result.Text != tt.text || !slices.Equal(ran, tt.ran) {
				t.Errorf("resumed: %+v, %v; it ran with %q", result, err, ran)
			}
			checkComplete(t, store, "t")
		})
	}
}
