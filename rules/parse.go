package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/selvagehq/selvage/internal/yamlx"
	"github.com/selvagehq/selvage/state"
)

// MaxBytes bounds a file of rules.
const MaxBytes = yamlx.MaxBytes

// Parse reads rules from YAML, of which JSON is a part: a list of rules, or a
// mapping with that list under "rules". They are checked as [Compile] does.
// The error is a [Fault] with the line.
func Parse(data []byte) ([]Rule, error) {
	doc, err := yamlx.Parse(data)
	var broken *yamlx.Error
	if errors.As(err, &broken) {
		return nil, &Fault{Line: broken.Line, Reason: broken.Reason}
	}
	if doc.Kind == yamlx.Map {
		r := reader{lines: make(map[string]int)}
		var list *yamlx.Node
		if err := r.entries("", doc, "a key of a file of rules", func(e yamlx.Entry) error { list = e.Value; return nil }, "rules"); err != nil {
			return nil, err
		}
		if doc = list; doc == nil {
			return nil, nil
		}
	}
	switch doc.Kind {
	case yamlx.Null:
		return nil, nil
	case yamlx.List:
	default:
		return nil, &Fault{Line: doc.Line, Place: "rules", Reason: fmt.Sprintf("rules are a list, this is %s", doc.Kind)}
	}
	r := reader{lines: make(map[string]int)}
	rules := make([]Rule, len(doc.Items))
	for i, item := range doc.Items {
		if err := r.rule(fmt.Sprintf("rules[%d]", i), item, &rules[i]); err != nil {
			return nil, err
		}
	}
	_, err = Compile(rules)
	var fault *Fault
	if errors.As(err, &fault) {
		fault.Line = r.line(fault.Place)
		return nil, fault
	}
	return rules, nil
}

// reader takes rules out of a document, and remembers where what stands.
type reader struct {
	lines map[string]int // by place
}

// line is where a place stands, or the nearest around it.
func (r *reader) line(place string) int {
	for place != "" {
		if line, ok := r.lines[place]; ok {
			return line
		}
		place = place[:max(strings.LastIndexAny(place, ".["), 0)]
	}
	return 0
}

// entries hands on the entries of a mapping, of which only the names given may
// be there.
func (r *reader) entries(place string, n *yamlx.Node, what string, take func(yamlx.Entry) error, names ...string) error {
	if n.Kind != yamlx.Map {
		return r.fault(place, n, "it is a mapping with %s, not %s", strings.Join(names, ", "), n.Kind)
	}
	for _, e := range n.Entries {
		r.lines[strings.TrimPrefix(place+"."+e.Key, ".")] = e.Line
		if err := among(place, e.Key, what, names); err != nil {
			var fault *Fault
			if errors.As(err, &fault) {
				fault.Line = e.Line
			}
			return err
		}
		if err := take(e); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) fault(place string, n *yamlx.Node, format string, args ...any) error {
	return &Fault{Line: n.Line, Place: place, Reason: fmt.Sprintf(format, args...)}
}

func (r *reader) rule(place string, n *yamlx.Node, rule *Rule) error {
	r.lines[place] = n.Line
	return r.entries(place, n, "a key of a rule", func(e yamlx.Entry) error {
		at := place + "." + e.Key
		switch e.Key {
		case "when":
			return r.condition(at, e.Value, &rule.When, 0)
		case "params":
			return r.params(at, e.Value, rule)
		}
		text, err := r.text(at, e.Value)
		if err != nil {
			return err
		}
		switch e.Key {
		case "name":
			rule.Name = text
		case "event":
			rule.Event = Event(text)
		case "do":
			rule.Do = Action(text)
		case "layer":
			layer, err := strconv.Atoi(text)
			if err != nil || layer == 0 {
				return r.fault(at, e.Value, "%q is not a layer: 1, 2 or 3", text)
			}
			rule.Layer = Layer(layer)
		}
		return nil
	}, "name", "layer", "event", "when", "do", "params")
}

// text returns a single value.
func (r *reader) text(place string, n *yamlx.Node) (string, error) {
	if n.Kind != yamlx.Scalar {
		return "", r.fault(place, n, "it is a single value, not %s", n.Kind)
	}
	return n.Text, nil
}

func (r *reader) params(place string, n *yamlx.Node, rule *Rule) error {
	if n.Kind != yamlx.Map {
		return r.fault(place, n, "params are a mapping, not %s", n.Kind)
	}
	rule.Params = make(map[string]string, len(n.Entries))
	for _, e := range n.Entries {
		r.lines[place+"."+e.Key] = e.Line
		text, err := r.text(place+"."+e.Key, e.Value)
		if err != nil {
			return err
		}
		rule.Params[e.Key] = text
	}
	return nil
}

func (r *reader) condition(place string, n *yamlx.Node, c *Condition, depth int) error {
	if n.Kind == yamlx.Null {
		return nil
	}
	if depth > MaxDepth {
		return r.fault(place, n, "conditions stand in each other more than %d deep", MaxDepth)
	}
	given := make(map[string]bool)
	err := r.entries(place, n, "a key of a condition", func(e yamlx.Entry) (err error) {
		at := place + "." + e.Key
		given[e.Key] = true
		switch e.Key {
		case "path":
			c.Path, err = r.text(at, e.Value)
		case "op":
			var op string
			op, err = r.text(at, e.Value)
			c.Op = Op(op)
		case "value":
			c.Value, err = r.value(at, e.Value)
		case "all":
			c.All, err = r.list(at, e.Value, depth)
		case "any":
			c.Any, err = r.list(at, e.Value, depth)
		case "not":
			c.Not = &Condition{}
			err = r.condition(at, e.Value, c.Not, depth+1)
		}
		return err
	}, "path", "op", "value", "all", "any", "not")
	if err == nil && given["path"] != given["op"] {
		return r.fault(place, n, "a comparison has path and op; this has one of them")
	}
	return err
}

func (r *reader) list(place string, n *yamlx.Node, depth int) ([]Condition, error) {
	if n.Kind != yamlx.List {
		return nil, r.fault(place, n, "it is a list of conditions, not %s", n.Kind)
	}
	list := make([]Condition, len(n.Items))
	for i, item := range n.Items {
		at := fmt.Sprintf("%s[%d]", place, i)
		r.lines[at] = item.Line
		if err := r.condition(at, item, &list[i], depth+1); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// value is the JSON value that a node stands for: true, false, null and
// numbers where they are not quoted, else a text.
func (r *reader) value(place string, n *yamlx.Node) (state.Value, error) {
	v, err := state.ValueOf(plain(n))
	if err != nil {
		return v, r.fault(place, n, "%v", err)
	}
	return v, nil
}

// plain is a node as encoding/json has values.
func plain(n *yamlx.Node) any {
	switch n.Kind {
	case yamlx.Scalar:
		if !n.Quoted {
			switch n.Text {
			case "true", "false":
				return n.Text == "true"
			}
			if _, err := strconv.ParseFloat(n.Text, 64); err == nil && json.Valid([]byte(n.Text)) {
				return json.Number(n.Text)
			}
		}
		return n.Text
	case yamlx.List:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = plain(item)
		}
		return list
	case yamlx.Map:
		object := make(map[string]any, len(n.Entries))
		for _, e := range n.Entries {
			object[e.Key] = plain(e.Value)
		}
		return object
	}
	return nil
}
