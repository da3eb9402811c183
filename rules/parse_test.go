package rules_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/rules"
	"github.com/selvagehq/selvage/state"
)

// What cannot be meant is refused, with its place and what was probably meant.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"[{name: a, event: eror, do: fail}]", `line 1: rules[0].event: "eror" is not an event; did you mean error?`},
		{"[{name: a, event: xyz, do: fail}]", `there are run_started, before_step`},
		{"- name: a\n  event: error\n  do: fail\n  when:\n    all:\n      - {path: a, op: eq, value: 1}\n      - path: b\n        op: gtee\n        value: 1",
			`line 8: rules[0].when.all[1].op: "gtee" is not an operator; did you mean gte?`},
		{"- {name: a, event: error, do: fail}\n- {name: a, event: limit, do: fail}", `line 2: rules[1].name: rules[0] is named "a" too`},
		{"[{event: error, do: fail}]", `rules[0].name: a rule needs a name`},
		{"[{name: a, event: error}]", `rules[0].do: the rule does nothing`},
		{"[{name: a, event: limit, do: retry}]", `"retry" is not what can be done at limit; there are suspend, escalate, fail, abort`},
		{"[{name: a, event: limit, do: skip}]", `is not what can be done at limit`},
		{"[{name: a, layer: 3, event: limit, do: fail}]", `rules[0].do: a rule of layer 3 decides nothing`},
		{"[{name: a, layer: 4, event: limit, do: fail}]", `rules[0].layer: 4 is not a layer`},
		{"[{name: a, layer: x, event: limit, do: fail}]", `"x" is not a layer`},
		{"[{name: a, event: error, do: fail, whem: {}}]", `"whem" is not a key of a rule; did you mean when?`},
		{"[{name: a, event: error, do: fail, when: {pth: a, op: eq}}]", `did you mean path?`},
		{"[{name: a, event: error, do: fail, when: {path: a}}]", `a comparison has path and op`},
		{"[{name: a, event: error, do: fail, when: {op: eq, value: 1}}]", `a comparison has path and op`},
		{"[{name: a, event: error, do: fail, when: {path: a..b, op: eq}}]", `"a..b" is not the way to a fact`},
		{"[{name: a, event: error, do: fail, when: {path: a, op: eq, all: []}}]", `and this is several`},
		{"[{name: a, event: error, do: fail, when: {any: []}}]", `any of nothing never holds`},
		{"[{name: a, event: error, do: fail, when: {all: {}}}]", `it is a list of conditions, not a mapping`},
		{"[{name: a, event: error, do: fail, when: [x]}]", `it is a mapping with path, op`},
		{"[{name: a, event: error, do: fail, when: {path: a, op: in, value: b}}]", `in looks for the fact in a list`},
		{"[{name: a, event: error, do: fail, when: {path: a, op: gt, value: [1]}}]", `gt compares with a number or a text`},
		{"[{name: a, event: error, do: fail, when: {path: a, op: exists, value: 1}}]", `exists takes true or false`},
		{"[{name: a, event: error, do: fail, when: {path: a, op: regex, value: '('}}]", `missing closing`},
		{"[{name: a, event: error, do: fail, params: {mesage: x}}]", `rules[0].params: "mesage" is not a parameter of fail; did you mean message?`},
		{"[{name: a, event: error, do: fail, params: {message: '${a'}}]", `is not closed`},
		{"[{name: a, event: error, do: retry, params: {wait: soon}}]", `"soon" is not a duration`},
		{"[{name: a, event: error, do: retry, params: {attempts: 0}}]", `is not a number from 1 on`},
		{"[{name: a, event: limit, do: escalate, params: {factor: 1}}]", `is not a number from 2 on`},
		{"[{name: a, event: limit, do: escalate, params: {amount: some}}]", `rules[0].params.amount: "some" is not an amount of a limit`},
		{"[{name: a, event: limit, do: escalate, params: {ceiling: 0}}]", `rules[0].params.ceiling: "0" is not an amount of a limit`},
		{"[{name: a, event: limit, do: escalate, params: {factor: 3, amount: 4}}]", `factor and amount contradict each other`},
		{"[{name: a, event: error, do: suspend, params: {reason: eror}}]", `did you mean error?`},
		{"name: a", `"name" is not a key of a file of rules`},
		{"rules: {}", `rules are a list, this is a mapping`},
		{"[x", `line 2: `},
		{"[{name: a, event: error, do: fail, when: " + strings.Repeat("{not: ", 40) + "{}" + strings.Repeat("}", 40) + "}]", `deep`},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			_, err := rules.Parse([]byte(tt.in))
			var fault *rules.Fault
			if !errors.As(err, &fault) || !errors.Is(err, selvage.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("Parse = %v; want %s", err, tt.want)
			}
			if fault.Line == 0 {
				t.Errorf("%v does not say on which line", err)
			}
		})
	}
}

func TestTooMany(t *testing.T) {
	t.Parallel()
	list := make([]rules.Rule, rules.MaxRules+1)
	for i := range list {
		list[i] = rules.Rule{Name: fmt.Sprint(i), Event: rules.Error, Do: rules.Fail}
	}
	if _, err := rules.Compile(list); !errors.Is(err, selvage.ErrInvalid) {
		t.Errorf("Compile = %v", err)
	}
	if _, err := rules.Compile(list[:rules.MaxRules]); err != nil {
		t.Errorf("Compile = %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("[{name: a, event: error, do: fail, when: {any: [{path: a.b, op: gt, value: 1}]}, params: {message: '${a}'}}]")
	f.Add("rules:\n- {name: x}")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := rules.Parse([]byte(text))
		if err != nil {
			if !errors.Is(err, selvage.ErrInvalid) {
				t.Fatalf("Parse = %v, which is of no class", err)
			}
			return
		}
		set, err := rules.Compile(list)
		if err != nil {
			t.Fatalf("what Parse takes does not compile: %v", err)
		}
		for i := range list {
			set.Decide(list[i].Event, state.Document{})
		}
	})
}

// Rules have a JSON of their own that says the same, and that Parse reads too.
func TestRulesInJSON(t *testing.T) {
	t.Parallel()
	const text = `
- {name: a, event: limit, do: escalate, params: {amount: 5, ceiling: "0.50"}}
- {name: b, layer: 3, event: error, when: {path: error.class, op: in, value: [quota, 12345678901234567890]}, params: {message: "${error.message} \"x\""}}
- {name: c, event: before_step, do: skip, when: {any: [{all: []}, {not: {path: /state/a~1b, op: exists, value: false}}, {path: x, op: eq, value: null}]}}`
	first, err := rules.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	var second []rules.Rule
	if err := json.Unmarshal(raw, &second); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(second)
	if err != nil || string(again) != string(raw) {
		t.Errorf("%s, %v\nbecame\n%s", raw, err, again)
	}
	if _, err := rules.Compile(second); err != nil {
		t.Error(err)
	}
	if third, err := rules.Parse(raw); err != nil {
		t.Errorf("Parse does not read %s: %v", raw, err)
	} else if parsed, _ := json.Marshal(third); string(parsed) != string(raw) {
		t.Errorf("Parse makes\n%s of\n%s", parsed, raw)
	}
	if second[2].When.Any[0].All == nil {
		t.Error("all of nothing is lost")
	}
}
