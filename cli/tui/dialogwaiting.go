package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
)

// aboutLimit makes the dialog for a limit that was reached.
func (m *model) aboutLimit(w *selvage.Waiting) *dialog {
	d := &dialog{waiting: w, chosen: -1, options: []option{
		{"r", "raise it and go on", func(m *model) tea.Cmd {
			return m.edit("by how much", suggestion(w), func(m *model, text string) (tea.Cmd, error) {
				var raise []runner.Bump
				for _, word := range strings.Fields(text) {
					b, err := runner.ParseBump(word)
					if err != nil {
						return nil, err
					}
					raise = append(raise, b)
				}
				return m.resume(raise), nil
			})
		}}}}
	d.options = append(d.options, always()...)
	return d
}

// aboutWaiting makes the dialog for a run that waits without asking about a
// call: a rule suspended it, or what it waits for is no person's to give.
func (m *model) aboutWaiting(w *selvage.Waiting) *dialog {
	d := &dialog{waiting: w, chosen: -1}
	if waitsToGoOn(w) || m.standing.Ready {
		d.options = []option{{"r", "go on", func(m *model) tea.Cmd { return m.resume(nil) }}}
	}
	d.options = append(d.options, always()...)
	return d
}

// waitsToGoOn reports whether a run waits for nothing but to be gone on with.
func waitsToGoOn(w *selvage.Waiting) bool {
	return w.LimitCode == "" && len(w.Tickets) == 0 && w.Until == nil && w.Reason != selvage.WaitBackground && w.Reason != selvage.WaitExternalEvent
}

// suggestion is a bump as a person would type it: what is proposed, or else a
// usual one.
func suggestion(w *selvage.Waiting) string {
	name, _, _ := strings.Cut(w.LimitCode, "_")
	if proposed := w.Escalation.Proposed; proposed != "" {
		return name + "=" + string(proposed)
	}
	switch w.LimitCode {
	case selvage.LimitSpend:
		return name + "=+0.50"
	case selvage.LimitTokens:
		return name + "=+10000"
	case selvage.LimitDuration:
		return name + "=+10m"
	}
	return name + "=+10"
}
