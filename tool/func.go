package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/selvagehq/selvage"
)

// Options says what a tool made of a function is like.
type Options struct {
	// Effect is what running the tool twice would do. It has no default:
	// [selvage.EffectNone] only reads, [selvage.EffectIdempotent] may be
	// repeated with the same [Call.IdempotencyKey], [selvage.EffectOnce] is
	// recorded before it runs and never silently repeated.
	Effect selvage.Effect

	// OnUnknown is what becomes of a call of effect once whose outcome a
	// crash left unknown, and must be chosen for such a tool: [FailUnknown].
	OnUnknown selvage.OnUnknown

	// Timeout bounds one call. Zero is no bound.
	Timeout time.Duration
}

// New makes a tool of a function that is given the [Call] it answers. In is a
// struct or a map; its JSON Schema is derived from the json tags (a field with
// omitempty or omitzero may be left out, any other is required) and from
// jsonschema tags, which describe a field to the model. Out becomes the text of
// the result: a string as it is, [selvage.Content] and [selvage.ToolResult]
// as they are, anything else as JSON.
//
// New never fails. What is wrong with a tool is told by [Bind], which a runner
// calls when it is made.
func New[In, Out any](name, description string, run func(context.Context, *Call, In) (Out, error), opts Options) Tool {
	f := &function[In, Out]{run: run, spec: selvage.ToolSpec{Name: name, Description: description,
		Effect: opts.Effect, OnUnknown: opts.OnUnknown, Timeout: opts.Timeout}}
	schema, err := jsonschema.For[In](nil)
	if err == nil {
		f.spec.Parameters, err = json.Marshal(schema)
	}
	if err != nil {
		f.err = fmt.Errorf("derive the schema of %T: %w", *new(In), err)
	}
	return f
}

// Func makes a tool of a function that needs nothing but its input. See [New].
func Func[In, Out any](name, description string, run func(context.Context, In) (Out, error), opts Options) Tool {
	return New(name, description, func(ctx context.Context, _ *Call, in In) (Out, error) { return run(ctx, in) }, opts)
}

// function is a tool made of a Go function.
type function[In, Out any] struct {
	spec selvage.ToolSpec
	run  func(context.Context, *Call, In) (Out, error)
	err  error // why it is not a tool
}

// Spec implements [Tool].
func (f *function[In, Out]) Spec() selvage.ToolSpec { return f.spec }

// Run implements [Tool].
func (f *function[In, Out]) Run(ctx context.Context, c *Call) (selvage.ToolResult, error) {
	var in In
	d := json.NewDecoder(bytes.NewReader(objectOf(c.Arguments)))
	d.UseNumber() // an integer in a field of type any keeps its digits
	if err := d.Decode(&in); err != nil {
		return selvage.ToolResult{}, &ArgumentsError{Tool: f.spec.Name, Faults: []Fault{{Reason: err.Error()}}}
	}
	out, err := f.run(ctx, c, in)
	if err != nil {
		return selvage.ToolResult{}, err
	}
	return resultOf(out)
}

// fault is what [Bind] asks for.
func (f *function[In, Out]) fault() error { return f.err }

// resultOf turns what a function returned into a result.
func resultOf(out any) (selvage.ToolResult, error) {
	switch out := out.(type) {
	case selvage.ToolResult:
		return out, nil
	case selvage.Content:
		return selvage.ToolResult{Content: out}, nil
	case string:
		return Text(out), nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil {
		return selvage.ToolResult{}, fmt.Errorf("encode the result: %w", err)
	}
	return Text(string(bytes.TrimSpace(b.Bytes()))), nil
}
