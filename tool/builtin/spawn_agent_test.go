package builtin_test

import (
	"strings"
	"testing"

	"github.com/selvagehq/selvage/tool/builtin"
)

// The model is told which agents there are, and what for; the schema of the
// call is the same, so that a run is gone on with when agents have changed.
func TestSpawnAgentNamesAgents(t *testing.T) {
	t.Parallel()
	plain, err := builtin.Named("spawn_agent", builtin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	named, err := builtin.Named("spawn_agent", builtin.Options{Agents: []builtin.Agent{{Name: "clerk"}, {Name: "scout", About: "finds things"}}})
	if err != nil {
		t.Fatal(err)
	}
	before, after := plain.Spec(), named.Spec()
	if !strings.HasSuffix(after.Description, " There are, by name: clerk; scout (finds things)") || strings.Contains(before.Description, "There are") {
		t.Errorf("described as %q, and without agents as %q", after.Description, before.Description)
	}
	if before.SchemaHash() != after.SchemaHash() {
		t.Error("the agents are part of the schema")
	}
}
