package tool

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// Fault is one mistake in the arguments of a call.
type Fault struct {
	Path   state.Pointer // of the value that is wrong; empty is the whole
	Reason string
}

// ArgumentsError reports arguments that do not satisfy the schema of a tool.
// Its text is written for the model that made them. It matches
// [selvage.ErrInvalid].
type ArgumentsError struct {
	Tool   string
	Faults []Fault
}

func (e *ArgumentsError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the arguments of %s are not valid:", e.Tool)
	for _, f := range e.Faults {
		path := string(f.Path)
		if path == "" {
			path = "arguments"
		}
		fmt.Fprintf(&b, "\n- %s: %s", path, f.Reason)
	}
	return b.String()
}

// Is reports whether target is [selvage.ErrInvalid].
func (e *ArgumentsError) Is(target error) bool { return target == selvage.ErrInvalid }

// objectOf returns arguments, none being the empty object.
func objectOf(args json.RawMessage) json.RawMessage {
	if len(bytes.TrimSpace(args)) == 0 {
		return json.RawMessage("{}")
	}
	return args
}

// schemaURL names a tool's schema to the validator. Nothing is ever fetched.
const schemaURL = "tool:///arguments"

// compileSchema prepares a schema for validation; what names it in errors. The
// schemas are derived by one library and checked by another because this one
// reports every fault with its path and takes the schemas of foreign tools.
func compileSchema(what string, parameters json.RawMessage) (*jsonschema.Schema, error) {
	if len(bytes.TrimSpace(parameters)) == 0 {
		return nil, nil
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(parameters))
	if err != nil {
		return nil, fmt.Errorf("%s not JSON: %w", what, err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	c.AssertFormat()
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, fmt.Errorf("%s not a JSON Schema: %w", what, err)
	}
	schema, err := c.Compile(schemaURL)
	if err != nil {
		return nil, fmt.Errorf("%s not a JSON Schema: %w", what, err)
	}
	return schema, nil
}

// checkArguments returns every fault of the arguments. A nil schema takes any
// object.
func checkArguments(schema *jsonschema.Schema, args json.RawMessage) []Fault {
	// The value reader refuses what would be read differently elsewhere, such
	// as an object with the same key twice.
	v, err := state.ParseValue(objectOf(args))
	if err != nil {
		return []Fault{{Reason: err.Error()}}
	}
	if v.Kind() != state.KindObject {
		return []Fault{{Reason: "they must be one JSON object, not " + v.Kind().String()}}
	}
	if schema == nil {
		return nil
	}
	return validate(schema, plain(v))
}

// plain is a value as the validator takes it.
func plain(v state.Value) any {
	switch v.Kind() {
	case state.KindObject:
		members := make(map[string]any, v.Len())
		for key, member := range v.Members() {
			members[key] = plain(member)
		}
		return members
	case state.KindArray:
		elements := make([]any, 0, v.Len())
		for element := range v.Elements() {
			elements = append(elements, plain(element))
		}
		return elements
	case state.KindString:
		return v.Text()
	case state.KindNumber:
		return json.Number(v.Literal())
	case state.KindBool:
		return v.Bool()
	}
	return nil
}

// check returns every fault of a value. A nil schema takes any.
func check(schema *jsonschema.Schema, value json.RawMessage) []Fault {
	if schema == nil {
		return nil
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return []Fault{{Reason: err.Error()}}
	}
	return validate(schema, instance)
}

func validate(schema *jsonschema.Schema, instance any) []Fault {
	err := schema.Validate(instance)
	var invalid *jsonschema.ValidationError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &invalid):
		return []Fault{{Reason: err.Error()}}
	}
	faults := leaves(invalid, message.NewPrinter(language.English), nil)
	slices.SortFunc(faults, func(a, b Fault) int {
		return cmp.Or(strings.Compare(string(a.Path), string(b.Path)), strings.Compare(a.Reason, b.Reason))
	})
	return faults
}

// leaves collects the faults that have no further cause.
func leaves(e *jsonschema.ValidationError, p *message.Printer, faults []Fault) []Fault {
	if len(e.Causes) == 0 {
		return append(faults, Fault{Path: state.At(e.InstanceLocation...), Reason: e.ErrorKind.LocalizedString(p)})
	}
	for _, cause := range e.Causes {
		faults = leaves(cause, p, faults)
	}
	return faults
}

// Validate returns every fault of a value by a JSON Schema, which may be none.
// A schema that is none itself, or a value that is no JSON, is a fault too.
func Validate(schema, value json.RawMessage) []Fault {
	compiled, err := compileSchema("the schema is", schema)
	if err != nil {
		return []Fault{{Reason: err.Error()}}
	}
	if _, err := state.ParseValue(value); err != nil {
		return []Fault{{Reason: err.Error()}}
	}
	return check(compiled, value)
}

// CheckSchema returns why a JSON Schema is none, or nil.
func CheckSchema(schema json.RawMessage) error {
	_, err := compileSchema("the schema is", schema)
	return err
}
