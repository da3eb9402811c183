package tool

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/selvagehq/selvage"
)

// Bound is a tool that was found to be in order and is ready to be run. It is
// safe for concurrent use.
type Bound struct {
	spec   selvage.ToolSpec
	tool   Tool
	schema *jsonschema.Schema
}

// namePattern is what every provider takes.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// unknowns are the choices for calls of unknown outcome.
var unknowns = []selvage.OnUnknown{selvage.OnUnknownAsk, selvage.OnUnknownProbe, selvage.OnUnknownRetry, selvage.OnUnknownFail}

const unknownChoices = `"ask", "probe", "retry" or "fail"`

// probes reports whether a tool can find out what became of a call.
func probes(t Tool) bool {
	_, ok := As[Prober](t)
	return ok
}

// Bind checks a tool's declaration and prepares it to be run. The error
// matches [selvage.ErrInvalid] and says what to change.
func Bind(t Tool) (*Bound, error) {
	b := &Bound{spec: t.Spec(), tool: t}
	bad := func(format string, args ...any) error {
		return &selvage.InvalidError{Field: fmt.Sprintf("tool %q", b.spec.Name), Reason: fmt.Sprintf(format, args...)}
	}
	if f, ok := t.(interface{ fault() error }); ok {
		if err := f.fault(); err != nil {
			return nil, bad("%v", err)
		}
	}
	if !namePattern.MatchString(b.spec.Name) {
		return nil, bad("a tool's name has 1 to 64 letters, digits, '_' or '-'")
	}
	switch {
	case b.spec.Effect == "":
		return nil, bad("declare its effect, what running it twice would do: none, idempotent or once")
	case b.spec.Effect != selvage.EffectNone && b.spec.Effect != selvage.EffectIdempotent && b.spec.Effect != selvage.EffectOnce:
		return nil, bad("%q is not an effect; use none, idempotent or once", b.spec.Effect)
	case b.spec.Effect == selvage.EffectOnce && b.spec.OnUnknown == "":
		return nil, bad("its effect is once, so say what becomes of a call whose outcome a crash left unknown: %s", unknownChoices)
	case b.spec.OnUnknown != "" && !slices.Contains(unknowns, b.spec.OnUnknown):
		return nil, bad("%q is not offered for calls of unknown outcome; the choices are %s", b.spec.OnUnknown, unknownChoices)
	case b.spec.OnUnknown == selvage.OnUnknownProbe && !probes(t):
		return nil, bad("it is to be asked whether a call took effect, so it needs a method Probe (see tool.Prober)")
	case b.spec.Timeout < 0:
		return nil, bad("a timeout may not be negative")
	}
	var err error
	if b.schema, err = compileSchema("its parameters are", b.spec.Parameters); err != nil {
		return nil, bad("%v", err)
	}
	if b.schema != nil && b.schema.Types != nil && !slices.Contains(b.schema.Types.ToStrings(), "object") {
		return nil, bad("its arguments are %s; a call's arguments are always an object, so take a struct or a map", b.schema.Types)
	}
	return b, nil
}

// Spec returns the tool's declaration.
func (b *Bound) Spec() selvage.ToolSpec { return b.spec }

// Check returns an [ArgumentsError] if the call's arguments do not satisfy the
// schema of the tool.
func (b *Bound) Check(c *Call) error {
	if faults := checkArguments(b.schema, c.Arguments); len(faults) > 0 {
		return &ArgumentsError{Tool: b.spec.Name, Faults: faults}
	}
	return nil
}

// Run runs a call that [Bound.Check] let pass. The result can always be given
// to the model; the error says why it failed, if the tool did not just say so
// itself: what the tool returned, [context.DeadlineExceeded] for its own
// timeout, a [PanicError], or ctx's error if ctx ended the call.
func (b *Bound) Run(ctx context.Context, c *Call) (result selvage.ToolResult, err error) {
	outer := ctx
	if b.spec.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, b.spec.Timeout)
		defer cancel()
	}
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Tool: b.spec.Name, Value: v, Stack: debug.Stack()}
			result = b.broken("crashed: %v", v)
		}
	}()
	result, err = b.tool.Run(ctx, c)
	switch {
	case err == nil:
		return result, nil
	case outer.Err() != nil && errors.Is(err, outer.Err()):
		return Failed("%s was interrupted", b.spec.Name), err
	case ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded):
		return b.broken("took longer than %s and was stopped", b.spec.Timeout), err
	}
	return Failed("%v", err), err
}

// broken is the result of a call that was broken off in the middle.
func (b *Bound) broken(format string, args ...any) selvage.ToolResult {
	text := b.spec.Name + " " + fmt.Sprintf(format, args...)
	if b.spec.Effect != selvage.EffectNone {
		text += "; whether it took effect is unknown"
	}
	return Failed("%s", text)
}

// Broke reports whether the error of [Bound.Run] says that the call was broken
// off in the middle, so that it may or may not have had its effect: its tool
// crashed or took too long.
func Broke(err error) bool {
	return errors.As(err, new(*PanicError)) || errors.Is(err, context.DeadlineExceeded)
}

// Gate asks a tool that is [Gated] whether a call may run unasked.
func (b *Bound) Gate(ctx context.Context, c *Call) (err error) {
	g, ok := As[Gated](b.tool)
	if !ok {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Tool: b.spec.Name, Value: v, Stack: debug.Stack()}
		}
	}()
	return g.Gate(ctx, c)
}

// Probe asks a tool that is a [Prober] whether a call took effect. Of any other
// it is [Unresolved].
func (b *Bound) Probe(ctx context.Context, c *Call) (found Finding, result selvage.ToolResult, err error) {
	p, ok := As[Prober](b.tool)
	if !ok {
		return Unresolved, result, nil
	}
	defer func() {
		if v := recover(); v != nil {
			found, err = Unresolved, &PanicError{Tool: b.spec.Name, Value: v, Stack: debug.Stack()}
		}
	}()
	if found, result, err = p.Probe(ctx, c); err != nil {
		found = Unresolved
	}
	return found, result, err
}

// PanicError reports a tool that panicked.
type PanicError struct {
	Tool  string
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("tool %q panicked: %v", e.Tool, e.Value) }
