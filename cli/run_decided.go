package cli

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
)

// decidedCall is what became of a decision about a call.
type decidedCall struct {
	Status   runner.DecidedStatus `json:"status"`
	CallID   string               `json:"call_id,omitempty"`
	Name     string               `json:"name,omitempty"`
	Ticket   string               `json:"ticket,omitempty"`
	Decision selvage.Decision     `json:"decision"` // that counts
}

// otherwise is the failure of a decision that was made before, and differently.
func (d *deciding) otherwise(doc *decidedDocument) error {
	for i := range doc.Decisions {
		c := &doc.Decisions[i]
		if c.Status != runner.AlreadyDecided || agrees(&c.Decision, &d.decision) {
			continue
		}
		return &failure{exit: exitConflict, class: "conflict", err: fmt.Errorf("%s", decidedText(c)),
			details: map[string]any{"call_id": c.CallID, "ticket": c.Ticket, "decision": c.Decision}}
	}
	return nil
}

// agrees reports whether two decisions say the same about a call.
func agrees(a, b *selvage.Decision) bool {
	goes := func(d *selvage.Decision) bool { return d.Action == selvage.DecisionResume }
	same := func(was, wanted json.RawMessage) bool {
		return wanted == nil || bytes.Equal(compactJSON(was), compactJSON(wanted))
	}
	return goes(a) == goes(b) && same(a.Result, b.Result) && same(a.Arguments, b.Arguments)
}

func compactJSON(data json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, data) != nil {
		return data
	}
	return b.Bytes()
}

// tellDecided says what became of a decision.
func (d *deciding) tellDecided(c *decidedCall) {
	switch c.Status {
	case runner.Recorded:
		d.note("%s: %s", verdictOf(&c.Decision), c.subject())
	case runner.Buffered:
		d.note("nothing asks for this yet; it is recorded for when something does")
	default:
		if agrees(&c.Decision, &d.decision) {
			d.note("%s", decidedText(c))
		}
	}
}

// subject is what was decided on.
func (c *decidedCall) subject() string {
	if c.CallID == "" {
		return "the limit"
	}
	return fmt.Sprintf("%s (call %s)", c.Name, c.CallID)
}

// decidedText says that a call was decided before, by whom and when.
func decidedText(c *decidedCall) string {
	text := fmt.Sprintf("already decided: %s was %s", c.subject(), verdictOf(&c.Decision))
	if c.Decision.By != "" {
		text += " by " + c.Decision.By
	}
	if !c.Decision.At.IsZero() {
		text += " at " + moment(c.Decision.At)
	}
	if c.Decision.Reason != "" {
		text += ": " + c.Decision.Reason
	}
	return text
}

// verdictOf says in a word what a decision was.
func verdictOf(d *selvage.Decision) string {
	switch {
	case d.Action != selvage.DecisionResume:
		return "denied"
	case d.Result != nil:
		return "answered"
	case d.Arguments != nil:
		return "approved with other arguments"
	default:
		return "approved"
	}
}
