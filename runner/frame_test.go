package runner_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
)

// What the model was given for any answer can be rebuilt from the log, also of
// answers that the thread was rewound from.
func TestContextOf(t *testing.T) {
	t.Parallel()
	tests := map[string]selvage.ContextRules{
		"all of it":          {},
		"the last messages":  {Messages: 5},
		"a token budget":     {Tokens: 120},
		"with summaries":     {Tokens: 200, Summarise: true},
		"summaries by count": {Messages: 12, Summarise: true},
	}
	for name, rules := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, m := newSpy(), summed()
			talkOn(t, store, m, rules, 1, 25)
			checkContexts(t, store, m, rules.Summarise)
			to := selvage.Version(7)
			if _, err := store.Append(t.Context(), "t", selvage.ChangeSet{Rewind: &to}, selvage.Any()); err != nil {
				t.Fatal(err)
			}
			checkContexts(t, store, m, rules.Summarise)
			verify(t, store, "t")
		})
	}
}

// checkContexts rebuilds what a model was given for every answer of thread t, and
// holds it against what it was asked.
func checkContexts(t *testing.T, store selvage.Store, m *attentive, summarised bool) {
	t.Helper()
	page, err := store.Runs(t.Context(), selvage.RunQuery{ThreadID: "t", Order: selvage.Ascending, Limit: new(200)})
	if err != nil {
		t.Fatal(err)
	}
	n, summaries := 0, 0
	for _, run := range page.Items {
		for step := 1; step <= run.Steps; step++ {
			sent, err := runner.ContextOf(t.Context(), store, run.ID, step)
			if err != nil {
				t.Fatal(err)
			}
			asked := m.asked[n]
			if diff := cmp.Diff(words(asked.Messages), words(sent.Messages)); diff != "" {
				t.Fatalf("request %d (-sent +rebuilt):\n%s", n, diff)
			}
			if sent.System != asked.System || len(sent.Tools) != 1 || sent.Model != m.Name() {
				t.Errorf("request %d: rebuilt %+v", n, sent)
			}
			if n++; sent.Summary != "" {
				summaries++
			}
		}
	}
	if n != len(m.asked) || (summaries > 0) != summarised {
		t.Errorf("rebuilt %d of %d requests, %d with a summary", n, len(m.asked), summaries)
	}
}

// words is what messages say, and who says it.
func words(messages []selvage.Message) []string {
	var all []string
	for i := range messages {
		m := &messages[i]
		line := fmt.Sprintf("%s %s %s: %s", m.ID, m.Role, m.ToolCallID, m.Text())
		for _, c := range m.ToolCalls {
			line += fmt.Sprintf(" [%s %s %s]", c.ID, c.Name, c.Arguments)
		}
		all = append(all, line)
	}
	return all
}
