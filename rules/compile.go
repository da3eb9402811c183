package rules

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/nearest"
	"github.com/selvagehq/selvage/state"
)

// The bounds of a set.
const (
	MaxRules   = 256
	MaxDepth   = 16   // of conditions in conditions
	maxPattern = 1000 // bytes of a regular expression
)

// Fault reports a rule that cannot be meant. It matches [selvage.ErrInvalid].
type Fault struct {
	Line   int    // in the file; 0 if there is none
	Place  string // "rules[1].when.all[0].op"
	Reason string
}

func (e *Fault) Error() string {
	text := e.Reason
	if e.Place != "" {
		text = e.Place + ": " + text
	}
	if e.Line > 0 {
		text = fmt.Sprintf("line %d: %s", e.Line, text)
	}
	return text
}

// Is reports whether target is [selvage.ErrInvalid].
func (e *Fault) Is(target error) bool { return target == selvage.ErrInvalid }

func faulty(place, format string, args ...any) *Fault {
	return &Fault{Place: place, Reason: fmt.Sprintf(format, args...)}
}

// among refuses a text that is none of the names, and says which was meant.
func among(place, text, what string, names []string) error {
	if slices.Contains(names, text) {
		return nil
	}
	if name := nearest.Name(text, names); name != "" && text != "" {
		return faulty(place, "%q is not %s; did you mean %s?", text, what, name)
	}
	return faulty(place, "%q is not %s; there are %s", text, what, strings.Join(names, ", "))
}

// Set is rules that were checked. It never changes, and is safe for concurrent
// use. The nil set has none.
type Set struct {
	byEvent map[Event][]compiled
}

// compiled is a rule that is ready to be applied.
type compiled struct {
	rule   Rule
	holds  test
	params map[string]template
}

// Compile checks rules and returns them as a set, in the order of their layers
// and, within one, as given. The error is a [Fault].
func Compile(rules []Rule) (*Set, error) {
	if len(rules) > MaxRules {
		return nil, faulty("rules", "there are %d, more than %d", len(rules), MaxRules)
	}
	set := &Set{byEvent: make(map[Event][]compiled)}
	seen := make(map[string]int)
	for i := range rules {
		place := fmt.Sprintf("rules[%d]", i)
		c, err := compile(place, &rules[i])
		if err != nil {
			return nil, err
		}
		if first, taken := seen[c.rule.Name]; taken {
			return nil, faulty(place+".name", "rules[%d] is named %q too", first, c.rule.Name)
		}
		seen[c.rule.Name] = i
		set.byEvent[c.rule.Event] = append(set.byEvent[c.rule.Event], *c)
	}
	for _, list := range set.byEvent {
		slices.SortStableFunc(list, func(a, b compiled) int { return int(a.rule.Layer) - int(b.rule.Layer) })
	}
	return set, nil
}

func compile(place string, rule *Rule) (*compiled, error) {
	c := &compiled{rule: *rule, params: make(map[string]template, len(rule.Params))}
	if c.rule.Layer == 0 {
		c.rule.Layer = Directive
	}
	if err := c.check(place); err != nil {
		return nil, err
	}
	var err error
	if c.holds, err = condition(place+".when", &rule.When, 0); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(rule.Params)) {
		if c.params[name], err = parameter(place+".params", rule.Do, name, rule.Params[name]); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// check holds a rule against what there is.
func (c *compiled) check(place string) error {
	r := &c.rule
	switch {
	case r.Name == "":
		return faulty(place+".name", "a rule needs a name, by which the log tells of it")
	case r.Layer < Directive || r.Layer > Infrastructure:
		return faulty(place+".layer", "%d is not a layer: 1 is yours, 2 that of the built-in rules, 3 is told of everything and decides nothing", r.Layer)
	}
	if err := among(place+".event", string(r.Event), "an event", events); err != nil {
		return err
	}
	switch {
	case r.Do == "" && r.Params["message"] == "":
		return faulty(place+".do", "the rule does nothing: it needs do, or params.message to tell")
	case r.Do != "" && r.Layer == Infrastructure:
		return faulty(place+".do", "a rule of layer 3 decides nothing: leave do out, or move the rule to layer 1")
	case r.Do == Escalate && r.Params["factor"] != "" && r.Params["amount"] != "":
		return faulty(place+".params", "factor and amount contradict each other: a limit is multiplied, or added to")
	case r.Do == "":
		return nil
	}
	return among(place+".do", string(r.Do), "what can be done at "+string(r.Event), actions[r.Event])
}

// parameter checks what an action is told. A value with a fact in it is
// checked when the fact is known, and does not count if it cannot be meant.
func parameter(place string, do Action, name, text string) (template, error) {
	if err := among(place, name, "a parameter of "+doing(do), params[do]); err != nil {
		return template{}, err
	}
	t, err := newTemplate(place+"."+name, text)
	if err != nil || t.varies() {
		return t, err
	}
	r := Result{Do: do, Params: map[string]string{name: text}}
	switch _, known := r.Wait(); {
	case name == "wait" && !known:
		return t, faulty(place+".wait", "%q is not a duration such as 30s", text)
	case name == "attempts" && r.Number(name) == 0:
		return t, faulty(place+".attempts", "%q is not a number from 1 on", text)
	case name == "factor" && r.Number(name) < 2:
		return t, faulty(place+".factor", "%q is not a number from 2 on", text)
	case (name == "amount" || name == "ceiling") && !amount(text):
		return t, faulty(place+"."+name, "%q is not an amount of a limit: 10, 0.50 or 5m", text)
	case name == "reason":
		return t, among(place+".reason", text, "a reason to wait", reasons)
	}
	return t, nil
}

// reasons are those for which a rule can make a run wait.
var reasons = []string{string(selvage.WaitApproval), string(selvage.WaitUserInput), string(selvage.WaitLimit), string(selvage.WaitBudget),
	string(selvage.WaitError), string(selvage.WaitExternalEvent)}

func doing(do Action) string {
	if do == "" {
		return "a rule that only tells"
	}
	return string(do)
}

// test reports whether a condition holds of facts.
type test func(facts state.Document) bool

// condition compiles one, and those in it.
func condition(place string, c *Condition, depth int) (test, error) {
	if depth > MaxDepth {
		return nil, faulty(place, "conditions stand in each other more than %d deep", MaxDepth)
	}
	set := 0
	for _, has := range []bool{c.Op != "" || c.Path != "" || !c.Value.IsNull(), c.All != nil, c.Any != nil, c.Not != nil} {
		if has {
			set++
		}
	}
	switch {
	case set == 0:
		return func(state.Document) bool { return true }, nil
	case set > 1:
		return nil, faulty(place, "a condition is one of {path, op, value}, all, any and not, and this is several")
	case c.All != nil:
		tests, err := conditions(place+".all", c.All, depth)
		return func(facts state.Document) bool { return every(tests, facts) }, err
	case c.Any != nil && len(c.Any) == 0:
		return nil, faulty(place+".any", "any of nothing never holds")
	case c.Any != nil:
		tests, err := conditions(place+".any", c.Any, depth)
		return func(facts state.Document) bool {
			return slices.ContainsFunc(tests, func(t test) bool { return t(facts) })
		}, err
	case c.Not != nil:
		holds, err := condition(place+".not", c.Not, depth+1)
		return func(facts state.Document) bool { return !holds(facts) }, err
	}
	return comparison(place, c)
}

func conditions(place string, list []Condition, depth int) ([]test, error) {
	tests := make([]test, len(list))
	for i := range list {
		var err error
		if tests[i], err = condition(fmt.Sprintf("%s[%d]", place, i), &list[i], depth+1); err != nil {
			return nil, err
		}
	}
	return tests, nil
}

func every(tests []test, facts state.Document) bool {
	return !slices.ContainsFunc(tests, func(t test) bool { return !t(facts) })
}

// comparison compiles a condition on one fact.
func comparison(place string, c *Condition) (test, error) {
	path, err := parsePath(place+".path", c.Path)
	if err != nil {
		return nil, err
	}
	if err := among(place+".op", string(c.Op), "an operator", ops); err != nil {
		return nil, err
	}
	want, kind := c.Value, c.Value.Kind()
	var pattern *regexp.Regexp
	switch {
	case c.Op == In && kind != state.KindArray:
		return nil, faulty(place+".value", "in looks for the fact in a list, and this is %s", kind)
	case c.Op == Exists && kind != state.KindBool && kind != state.KindNull:
		return nil, faulty(place+".value", "exists takes true or false, and this is %s", kind)
	case (c.Op == Gt || c.Op == Gte || c.Op == Lt || c.Op == Lte) && kind != state.KindNumber && kind != state.KindString:
		return nil, faulty(place+".value", "%s compares with a number or a text, and this is %s", c.Op, kind)
	case c.Op == Regex:
		if kind != state.KindString || len(want.Text()) > maxPattern {
			return nil, faulty(place+".value", "regex takes a regular expression of at most %d bytes as a text", maxPattern)
		}
		if pattern, err = regexp.Compile(want.Text()); err != nil {
			return nil, faulty(place+".value", "%v", err)
		}
	}
	op := c.Op
	return func(facts state.Document) bool { return compare(op, lookUp(facts, path), want, pattern) }, nil
}

// parsePath reads a way to a fact.
func parsePath(place, text string) (state.Pointer, error) {
	if strings.HasPrefix(text, "/") {
		p, err := state.ParsePointer(text)
		if err != nil {
			return "", faulty(place, "%q is not a pointer: %v", text, err)
		}
		return p, nil
	}
	keys := strings.Split(text, ".")
	if slices.Contains(keys, "") {
		return "", faulty(place, "%q is not the way to a fact; for example error.class or run.steps", text)
	}
	return state.At(keys...), nil
}
