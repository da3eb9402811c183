package openai_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
)

// A call is told piece by piece while it is written, also if it never becomes
// whole.
func TestCallsAreToldWhileTheyAreWritten(t *testing.T) {
	t.Parallel()
	s := serve(t, frames(
		delta(`"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"note","arguments":""}}]`),
		delta(`"tool_calls":[{"index":0,"function":{"arguments":"{\"te"}}]`),
		delta(`"tool_calls":[{"index":0,"function":{"arguments":"xt\":"}}]`)))
	var got []selvage.PartialCall
	var failed error
	for c, err := range s.model(t).Stream(t.Context(), hello) {
		if c.Writing != nil {
			got = append(got, *c.Writing)
		}
		if c.ToolCall != nil {
			t.Errorf("a half call came as a whole one: %+v", c.ToolCall)
		}
		failed = err
	}
	want := []selvage.PartialCall{{ID: "c1", Name: "note"}, {Arguments: `{"te`}, {Arguments: `xt":`}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pieces (-want +got):\n%s", diff)
	}
	checkError(t, failed, model.Cut)
}
