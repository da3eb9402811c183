package runner_test

import (
	"context"
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
