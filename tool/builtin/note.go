package builtin

import (
	"context"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/tool"
)

type noteIn struct {
	Text string `json:"text" jsonschema:"what to remember in this conversation"`
}

// note keeps a text in the list at /notes of the thread's state. The same text
// is kept once, so that noting it twice is noting it once.
func note() tool.Tool {
	notes := state.NewKey[[]string](state.Spec{Name: "notes", Reducer: state.ReduceUnion})
	return tool.New("note", "Keeps a note in the state of this conversation.", func(_ context.Context, c *tool.Call, in noteIn) (string, error) {
		if err := tool.Update(c, notes, []string{in.Text}); err != nil {
			return "", err
		}
		return "Noted: " + in.Text, nil
	}, tool.Options{Effect: selvage.EffectIdempotent})
}
