package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/selvagehq/selvage"
)

// whatChanged says in a line what a change tells of runs and calls, beside its
// reason: what a run waits for, who decided what, how it ended and why. It is
// "" for one that tells nothing of the kind, or cannot be read.
func whatChanged(c *selvage.Change) string {
	set, err := c.Set()
	if err != nil {
		return "" // thread verify is for saying so
	}
	var told []string
	if set.Rewind != nil {
		told = append(told, fmt.Sprintf("back to version %s", *set.Rewind))
	}
	told = append(told, callsChanged(set.Calls)...)
	for i := range set.Runs {
		text := runChanged(&set.Runs[i])
		if text == "" && set.Reason == selvage.ReasonDecision && set.Runs[i].Status == selvage.RunRunning {
			text = "the run goes on"
		}
		if text != "" {
			told = append(told, text)
		}
	}
	return oneLine(strings.Join(told, "; "))
}

// runChanged says what became of a run.
func runChanged(u *selvage.RunUpdate) string {
	switch {
	case u.Waiting != nil:
		return "waits for " + waitsFor(u.Waiting)
	case u.Outcome != nil:
		run := selvage.Run{Status: u.Status, Outcome: u.Outcome}
		text := standing(&run)
		if why := circumstance(&run); why != "" {
			text += ": " + why
		}
		return text
	case u.Limits != nil:
		return "limits raised"
	}
	return ""
}

// callsChanged says what became of calls: those of the same tool and fate once,
// with their number.
func callsChanged(calls []selvage.CallUpdate) []string {
	var told []string
	count := make(map[string]int)
	for i := range calls {
		text := callChanged(&calls[i])
		if count[text]++; count[text] == 1 {
			told = append(told, text)
		}
	}
	for i, text := range told {
		if n := count[text]; n > 1 {
			told[i] = fmt.Sprintf("%d times %s", n, text)
		}
	}
	return told
}

func callChanged(u *selvage.CallUpdate) string {
	var d selvage.Decision
	if u.Decision == nil || json.Unmarshal(u.Decision, &d) != nil {
		return strings.TrimSpace(u.Name + " " + string(u.Status))
	}
	text := verdictOf(&d)
	if u.Name != "" {
		text = u.Name + " " + text
	}
	if d.By != "" {
		text += " by " + d.By
	}
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	return text
}
