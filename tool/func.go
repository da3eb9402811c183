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
	// crash left unknown, and must be chosen for such a tool.
	OnUnknown selvage.OnUnknown

	// Gate, if not nil, decides before a call is begun whether it may run
	// unasked; see [Gated].
	Gate func(ctx context.Context, c *Call) error

	// Probe, if not nil, finds out whether a call took effect; see [Prober].
	Probe func(ctx context.Context, c *Call) (Finding, selvage.ToolResult, error)

	// Caps is what a run must be granted to be offered the tool, besides
	// tool.NAME.
	Caps []string

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
	f := &function[In, Out]{run: run, gate: opts.Gate, probe: opts.Probe, spec: selvage.ToolSpec{Name: name,
		Description: description, Effect: opts.Effect, OnUnknown: opts.OnUnknown, Timeout: opts.Timeout, Caps: opts.Caps}}
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
	spec  selvage.ToolSpec
	run   func(context.Context, *Call, In) (Out, error)
	gate  func(context.Context, *Call) error
	probe func(context.Context, *Call) (Finding, selvage.ToolResult, error)
	err   error // why it is not a tool
}

// has reports whether the tool was given what a capability needs.
func (f *function[In, Out]) has(target any) bool {
	switch target.(type) {
	case *Gated:
		return f.gate != nil
	case *Prober:
		return f.probe != nil
	}
	return true
}

// Gate implements [Gated].
func (f *function[In, Out]) Gate(ctx context.Context, c *Call) error { return f.gate(ctx, c) }

// Probe implements [Prober].
func (f *function[In, Out]) Probe(ctx context.Context, c *Call) (Finding, selvage.ToolResult, error) {
	return f.probe(ctx, c)
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
