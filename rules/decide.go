package rules

import (
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// Result is what a rule that held says.
type Result struct {
	Rule   string // its name
	Layer  Layer
	Do     Action
	Params map[string]string // with the facts put in
}

// Decision is what the rules say about an event.
type Decision struct {
	// Result decides; nil if no rule does.
	Result *Result
	// Told are the rules that held and decide nothing, in order.
	Told []Result
}

// Has reports whether any rule is about an event, so that its facts are worth
// gathering.
func (s *Set) Has(event Event) bool { return s != nil && len(s.byEvent[event]) > 0 }

// Decide asks the rules about an event. Of layers 1 and 2 it asks until one
// that holds has an action; all of layer 3 are asked.
func (s *Set) Decide(event Event, facts state.Document) Decision {
	var d Decision
	if s == nil {
		return d
	}
	for i := range s.byEvent[event] {
		c := &s.byEvent[event][i]
		if d.Result != nil && c.rule.Layer != Infrastructure || !c.holds(facts) {
			continue
		}
		result := c.result(facts)
		if result.Do == "" {
			d.Told = append(d.Told, result)
			continue
		}
		d.Result = &result
	}
	return d
}

func (c *compiled) result(facts state.Document) Result {
	r := Result{Rule: c.rule.Name, Layer: c.rule.Layer, Do: c.rule.Do, Params: make(map[string]string, len(c.params))}
	for name, t := range c.params {
		r.Params[name] = t.expand(facts)
	}
	return r
}

// Message is what the rule says to people, or otherwise if it says nothing.
func (r *Result) Message(otherwise string) string {
	if text := r.Params["message"]; text != "" {
		return text
	}
	return otherwise
}

// Number is a parameter that counts; 0 if there is none.
func (r *Result) Number(name string) int { return number(r.Params[name]) }

// Wait is how long to wait before a retry, and whether the rule says so.
func (r *Result) Wait() (time.Duration, bool) { return wait(r.Params["wait"]) }

// Reason is why the run is to wait; [selvage.WaitApproval] if the rule does not
// say.
func (r *Result) Reason() selvage.WaitReason {
	for _, reason := range reasons {
		if r.Params["reason"] == reason {
			return selvage.WaitReason(reason)
		}
	}
	return selvage.WaitApproval
}
