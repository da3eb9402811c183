package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/selvagehq/selvage/rules"
	"github.com/selvagehq/selvage/state"
)

// facts are what most tests ask about.
func facts(t testing.TB) state.Document {
	t.Helper()
	doc, err := state.Parse([]byte(`{"run":{"id":"r1","steps":3,"cost":1.5,"big":9007199254740993},"error":{"class":"quota"},
		"reply":{"text":"I am done","calls":["clock","note"]},"state":{"a.b":{"c":1}},"none":null}`))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// compiled parses and compiles rules, or fails the test.
func compiled(t testing.TB, text string) *rules.Set {
	t.Helper()
	list, err := rules.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	set, err := rules.Compile(list)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestConditions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		when string
		want bool
	}{
		{`{}`, true},
		{``, true},
		{`{path: error.class, op: eq, value: quota}`, true},
		{`{path: error.class, op: eq, value: "3"}`, false},
		{`{path: run.steps, op: eq, value: 3}`, true},
		{`{path: run.steps, op: eq, value: 3.0}`, true},
		{`{path: run.steps, op: eq, value: "3"}`, false}, // quoted, it is a text
		{`{path: run.big, op: eq, value: 9007199254740992}`, false},
		{`{path: run.big, op: gt, value: 9007199254740992}`, true},
		{`{path: run.steps, op: ne, value: 4}`, true},
		{`{path: run.steps, op: gt, value: 3}`, false},
		{`{path: run.steps, op: gte, value: 3}`, true},
		{`{path: run.steps, op: lt, value: 3.5}`, true},
		{`{path: run.steps, op: lte, value: 2}`, false},
		{`{path: run.cost, op: lte, value: 1.5}`, true},
		{`{path: run.id, op: gt, value: r0}`, true},
		{`{path: run.id, op: gt, value: 0}`, false}, // a text and a number do not compare
		{`{path: run.id, op: lt, value: 0}`, false},
		{`{path: nothing.here, op: lt, value: 1}`, false},
		{`{path: nothing.here, op: eq, value: null}`, true}, // what is not there is null
		{`{path: nothing.here, op: ne, value: 1}`, true},
		{`{path: nothing.here, op: exists}`, false},
		{`{path: nothing.here, op: exists, value: false}`, true},
		{`{path: none, op: exists}`, false},
		{`{path: run.id, op: exists, value: true}`, true},
		{`{path: run.id, op: exists, value: false}`, false},
		{`{path: error.class, op: in, value: [transient, quota]}`, true},
		{`{path: error.class, op: in, value: []}`, false},
		{`{path: reply.calls, op: contains, value: note}`, true},
		{`{path: reply.calls, op: contains, value: not}`, false},
		{`{path: reply.text, op: contains, value: done}`, true},
		{`{path: error, op: contains, value: class}`, true},
		{`{path: run.steps, op: contains, value: 3}`, false},
		{`{path: reply.text, op: regex, value: "(?i)^i AM"}`, true},
		{`{path: run.steps, op: regex, value: "3"}`, false},
		{`{path: reply.calls.1, op: eq, value: note}`, true},
		{`{path: /state/a.b/c, op: eq, value: 1}`, true},
		{`{path: state.a.b.c, op: eq, value: 1}`, false},
		{`{all: []}`, true},
		{`{all: [{path: run.steps, op: eq, value: 3}, {path: run.id, op: eq, value: r1}]}`, true},
		{`{all: [{path: run.steps, op: eq, value: 3}, {path: run.id, op: eq, value: r2}]}`, false},
		{`{any: [{path: run.steps, op: eq, value: 4}, {path: run.id, op: eq, value: r1}]}`, true},
		{`{any: [{path: run.steps, op: eq, value: 4}, {path: run.id, op: eq, value: r2}]}`, false},
		{`{not: {path: run.steps, op: eq, value: 4}}`, true},
		{`{not: {}}`, false},
		{`{not: {any: [{not: {path: run.steps, op: eq, value: 3}}]}}`, true},
	}
	for _, tt := range tests {
		t.Run(tt.when, func(t *testing.T) {
			t.Parallel()
			set := compiled(t, fmt.Sprintf("[{name: a, event: error, do: fail, when: %s}]", orNull(tt.when)))
			if got := set.Decide(rules.Error, facts(t)).Result != nil; got != tt.want {
				t.Errorf("it holds: %v; want %v", got, tt.want)
			}
		})
	}
}

func orNull(text string) string {
	if text == "" {
		return "null"
	}
	return text
}

// outline is a decision in one line.
func outline(d rules.Decision) string {
	text := "-"
	if d.Result != nil {
		text = fmt.Sprintf("%s %s", d.Result.Rule, d.Result.Do)
	}
	for _, told := range d.Told {
		text += ", " + told.Rule + ": " + told.Message("?")
	}
	return text
}

func TestLayers(t *testing.T) {
	t.Parallel()
	const set = `
- {name: watch, layer: 3, event: limit, params: {message: "at ${limit.code}"}}
- {name: built, layer: 2, event: limit, do: escalate}
- {name: quiet, event: limit, params: {message: seen}}
- {name: other, event: limit, when: {path: limit.code, op: eq, value: spend_exceeded}, do: abort}
- {name: mine, event: limit, when: {path: limit.code, op: eq, value: turns_exceeded}, do: suspend}
- {name: late, event: limit, params: {message: never}}
- {name: also, layer: 3, event: limit, params: {message: too}}
- {name: elsewhere, event: error, do: fail}
`
	tests := []struct{ code, want string }{
		{"turns_exceeded", "mine suspend, quiet: seen, watch: at turns_exceeded, also: too"},
		{"spend_exceeded", "other abort, quiet: seen, watch: at spend_exceeded, also: too"},
		{"tokens_exceeded", "built escalate, quiet: seen, late: never, watch: at tokens_exceeded, also: too"},
	}
	for _, tt := range tests {
		t.Run(tt.code, func(t *testing.T) {
			t.Parallel()
			doc, err := state.Parse([]byte(`{"limit":{"code":"` + tt.code + `"}}`))
			if err != nil {
				t.Fatal(err)
			}
			if got := outline(compiled(t, set).Decide(rules.Limit, doc)); got != tt.want {
				t.Errorf("decided %s; want %s", got, tt.want)
			}
		})
	}
}

func TestParams(t *testing.T) {
	t.Parallel()
	set := compiled(t, `
- name: a
  event: error
  do: suspend
  params:
    reason: error
    message: "${error.class} in ${run.id} after ${run.steps}: ${reply.calls}${nothing}${none}."`)
	result := set.Decide(rules.Error, facts(t)).Result
	if want := `quota in r1 after 3: ["clock","note"].`; result == nil || result.Message("") != want || result.Reason() != "error" {
		t.Errorf("decided %+v; want the message %s", result, want)
	}
	set = compiled(t, `[{name: a, event: error, do: retry, params: {attempts: 7, wait: 90s}}]`)
	result = set.Decide(rules.Error, facts(t)).Result
	wait, said := result.Wait()
	if result.Number("attempts") != 7 || wait.Seconds() != 90 || !said {
		t.Errorf("decided %+v", result)
	}
}

func TestBuiltIn(t *testing.T) {
	t.Parallel()
	set, err := rules.Compile(rules.BuiltIn())
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		event rules.Event
		facts string
		want  string
	}{
		{rules.Error, `{"error":{"class":"transient","again":true}}`, "builtin:retry retry"},
		{rules.Error, `{"error":{"class":"transient","again":false}}`, "builtin:fail fail"},
		{rules.Error, `{"error":{"class":"permanent","again":false}}`, "builtin:fail fail"},
		{rules.Error, `{"error":{"class":"cancelled","again":true}}`, "builtin:abort_cancelled abort"},
		{rules.Limit, `{"limit":{"code":"turns_exceeded"}}`, "builtin:escalate_limit escalate"},
		{rules.ContextPressure, `{"pressure":{"ratio":0.8,"rising":true}}`, "builtin:compact compact"},
		{rules.ContextPressure, `{"pressure":{"ratio":0.79,"rising":true}}`, "-"},
		{rules.ContextPressure, `{"pressure":{"ratio":0.9,"rising":false}}`, "-"},
		{rules.Completed, `{}`, "-"},
	}
	for _, tt := range tests {
		t.Run(string(tt.event)+tt.facts, func(t *testing.T) {
			t.Parallel()
			doc, err := state.Parse([]byte(tt.facts))
			if err != nil {
				t.Fatal(err)
			}
			if got := outline(set.Decide(tt.event, doc)); got != tt.want {
				t.Errorf("decided %s; want %s", got, tt.want)
			}
		})
	}
}

func TestNoRules(t *testing.T) {
	t.Parallel()
	var none *rules.Set
	if none.Has(rules.Error) || none.Decide(rules.Error, facts(t)).Result != nil {
		t.Error("no rules decide something")
	}
	for _, empty := range []string{"", "[]", "rules:\n", "{}"} {
		if list, err := rules.Parse([]byte(empty)); err != nil || len(list) != 0 {
			t.Errorf("Parse(%q) = %v, %v", empty, list, err)
		}
	}
}

// A message that facts blow up is cut, and stays text.
func TestExpansionIsBounded(t *testing.T) {
	t.Parallel()
	doc, err := state.Parse([]byte(`{"x":"` + strings.Repeat("ä", 1<<16) + `"}`))
	if err != nil {
		t.Fatal(err)
	}
	got := compiled(t, `[{name: a, event: error, do: fail, params: {message: ".${x}"}}]`).Decide(rules.Error, doc).Result.Message("")
	if len(got) > 4<<10 || len(got) < 4<<10-4 || strings.ToValidUTF8(got, "?") != got {
		t.Errorf("the message has %d bytes, valid: %v", len(got), strings.ToValidUTF8(got, "?") == got)
	}
}
