package tool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/tool"
)

type order struct {
	ID    string   `json:"id" jsonschema:"the order's number"`
	Lines []line   `json:"lines"`
	Note  string   `json:"note,omitempty"`
	Rate  *float64 `json:"rate,omitempty"`
}

type line struct {
	SKU   string `json:"sku"`
	Count int64  `json:"count"`
}

var once = tool.Options{Effect: selvage.EffectOnce, OnUnknown: tool.FailUnknown}

func bind(t *testing.T, tl tool.Tool) *tool.Bound {
	t.Helper()
	b, err := tool.Bind(tl)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func echo[T any]() tool.Tool {
	return tool.Func("echo", "Repeats.", func(_ context.Context, in T) (T, error) { return in, nil }, once)
}

// The schema of the arguments is that of the Go type: names from the json tags,
// descriptions from the jsonschema tags, required unless it may be left out.
func TestSchemaOfAType(t *testing.T) {
	t.Parallel()
	spec := bind(t, echo[order]()).Spec()
	const want = `{
  "type": "object",
  "properties": {
    "id": {"type": "string", "description": "the order's number"},
    "lines": {"type": ["null", "array"], "items": {"type": "object", "properties": {"sku": {"type": "string"}, "count": {"type": "integer"}},
      "required": ["sku", "count"], "additionalProperties": false}},
    "note": {"type": "string"},
    "rate": {"type": ["null", "number"]}
  },
  "required": ["id", "lines"],
  "additionalProperties": false
}`
	if diff := cmp.Diff(value(t, want).String(), value(t, string(spec.Parameters)).String()); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
	if spec.Name != "echo" || spec.Description != "Repeats." || spec.Effect != selvage.EffectOnce || spec.OnUnknown != tool.FailUnknown {
		t.Errorf("spec %+v", spec)
	}
	var spaced bytes.Buffer
	if err := json.Indent(&spaced, spec.Parameters, "", "    "); err != nil {
		t.Fatal(err)
	}
	again := spec
	again.Parameters = spaced.Bytes()
	if spec.SchemaHash() != again.SchemaHash() || len(spec.SchemaHash()) != 64 {
		t.Error("white space changes the hash of a schema")
	}
	if other := bind(t, echo[line]()).Spec(); other.SchemaHash() == spec.SchemaHash() {
		t.Error("two schemas have one hash")
	}
}

func value(t *testing.T, text string) state.Value {
	t.Helper()
	v, err := state.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Every fault of the arguments is told, with its path.
func TestArguments(t *testing.T) {
	t.Parallel()
	tests := []struct{ args, want string }{
		{`{"id":"1","lines":[{"sku":"a","count":9007199254740993}]}`, ""},
		{`{"id":"1","lines":[],"rate":0.5,"note":""}`, ""},
		{``, "arguments: missing properties 'id', 'lines'"},
		{`[]`, "arguments: they must be one JSON object, not array"},
		{`{"id":`, "arguments: invalid JSON at byte"},
		{`{"id":"1","id":"2","lines":[]}`, "arguments: invalid JSON at byte"},
		{`{"id":1,"lines":[{"sku":"a"},{"sku":2,"count":1.5}],"x":0}`, `arguments: additional properties 'x' not allowed
/id: got number, want string
/lines/0: missing property 'count'
/lines/1/count: got number, want integer
/lines/1/sku: got number, want string`},
	}
	b := bind(t, echo[order]())
	for _, tt := range tests {
		err := b.Check(&tool.Call{Arguments: json.RawMessage(tt.args)})
		var faults *tool.ArgumentsError
		switch {
		case err == nil:
			if tt.want != "" {
				t.Errorf("%s: no fault, want %s", tt.args, tt.want)
			}
			continue
		case !errors.As(err, &faults) || !errors.Is(err, selvage.ErrInvalid):
			t.Errorf("%s: %v", tt.args, err)
			continue
		}
		got := strings.ReplaceAll(strings.TrimPrefix(err.Error(), "the arguments of echo are not valid:\n- "), "\n- ", "\n")
		if tt.want == "" || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s:\n%s\nwant\n%s", tt.args, got, tt.want)
		}
	}
}

// What a function returns becomes text: strings as they are, anything else as
// JSON, exactly.
func TestResults(t *testing.T) {
	t.Parallel()
	run := func(tl tool.Tool, args string) selvage.ToolResult {
		t.Helper()
		result, err := bind(t, tl).Run(t.Context(), &tool.Call{Arguments: json.RawMessage(args)})
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	if got := run(echo[line](), `{"sku":"<&>","count":9007199254740993}`).Content.Text(); got != `{"sku":"<&>","count":9007199254740993}` {
		t.Errorf("struct: %s", got)
	}
	if got := run(echo[map[string]any](), `{"n":9007199254740993}`).Content.Text(); got != `{"n":9007199254740993}` {
		t.Errorf("map: %s", got)
	}
	failed := tool.Func("f", "", func(context.Context, struct{}) (selvage.ToolResult, error) { return tool.Failed("no %d", 1), nil }, once)
	if got := run(failed, ""); !got.Failed || got.Content.Text() != "no 1" {
		t.Errorf("result: %+v", got)
	}
	parts := selvage.Content{{Type: selvage.PartText, Text: "a"}, {Type: selvage.PartText, Text: "b"}}
	content := tool.Func("c", "", func(context.Context, struct{}) (selvage.Content, error) { return parts, nil }, once)
	if diff := cmp.Diff(parts, run(content, "{}").Content); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
}

// However a tool fails there is a result for the model, and the error says why.
func TestFailures(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	tests := map[string]struct {
		run  func(context.Context) (string, error)
		want string
		is   func(error) bool
	}{
		"an error":                    {func(context.Context) (string, error) { return "", boom }, "boom", func(err error) bool { return errors.Is(err, boom) }},
		"a panic":                     {func(context.Context) (string, error) { panic(boom) }, "t crashed: boom; whether it took effect is unknown", isPanic},
		"a timeout":                   {func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }, "t took longer than 1m0s and was stopped; whether it took effect is unknown", func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }},
		"an error of another context": {func(context.Context) (string, error) { return "", context.Canceled }, "context canceled", func(err error) bool { return errors.Is(err, context.Canceled) }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				opts := once
				opts.Timeout = time.Minute
				b := bind(t, tool.Func("t", "", func(ctx context.Context, _ struct{}) (string, error) { return tt.run(ctx) }, opts))
				result, err := b.Run(t.Context(), &tool.Call{})
				if !result.Failed || result.Content.Text() != tt.want || !tt.is(err) {
					t.Errorf("result %+v, error %v", result, err)
				}
			})
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := bind(t, tool.Func("t", "", func(ctx context.Context, _ struct{}) (string, error) { return "", ctx.Err() }, once))
	if result, err := b.Run(ctx, &tool.Call{}); !errors.Is(err, context.Canceled) || result.Content.Text() != "t was interrupted" {
		t.Errorf("cancelled: %+v, %v", result, err)
	}
}

func isPanic(err error) bool {
	var p *tool.PanicError
	return errors.As(err, &p) && bytes.Contains(p.Stack, []byte("TestFailures"))
}

// foreign is a tool that was not made of a function.
type foreign struct{ spec selvage.ToolSpec }

func (f foreign) Spec() selvage.ToolSpec { return f.spec }

func (foreign) Run(context.Context, *tool.Call) (selvage.ToolResult, error) {
	return tool.Text("ok"), nil
}

// What is wrong with a declaration is told when the tool is bound.
func TestBind(t *testing.T) {
	t.Parallel()
	onDisk := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(onDisk, []byte(`{"type":"object"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	none := selvage.EffectNone
	fn := func(context.Context, struct{}) (string, error) { return "", nil }
	tests := map[string]struct {
		tool tool.Tool
		want string // part of the error; empty: it is in order
	}{
		"in order":          {tool.Func("t", "", fn, tool.Options{Effect: none}), ""},
		"no schema":         {foreign{selvage.ToolSpec{Name: "t", Effect: none}}, ""},
		"no effect":         {tool.Func("t", "", fn, tool.Options{}), "declare its effect"},
		"unknown effect":    {tool.Func("t", "", fn, tool.Options{Effect: "twice"}), `"twice" is not an effect`},
		"once, no choice":   {tool.Func("t", "", fn, tool.Options{Effect: selvage.EffectOnce}), "say what becomes of a call"},
		"once, bad choice":  {tool.Func("t", "", fn, tool.Options{Effect: selvage.EffectOnce, OnUnknown: "pray"}), `"pray" is not offered`},
		"bad name":          {tool.Func("a b", "", fn, tool.Options{Effect: none}), "1 to 64 letters"},
		"no name":           {tool.Func("", "", fn, tool.Options{Effect: none}), "1 to 64 letters"},
		"negative timeout":  {tool.Func("t", "", fn, tool.Options{Effect: none, Timeout: -1}), "may not be negative"},
		"a type of no JSON": {tool.Func("t", "", func(context.Context, struct{ C chan int }) (string, error) { return "", nil }, tool.Options{Effect: none}), "derive the schema"},
		"not an object":     {tool.Func("t", "", func(context.Context, string) (string, error) { return "", nil }, tool.Options{Effect: none}), "take a struct or a map"},
		"broken schema":     {foreign{selvage.ToolSpec{Name: "t", Effect: none, Parameters: json.RawMessage(`{"type":`)}}, "not JSON"},
		"no schema at all":  {foreign{selvage.ToolSpec{Name: "t", Effect: none, Parameters: json.RawMessage(`{"type":"thing"}`)}}, "not a JSON Schema"},
		"a schema far away": {foreign{selvage.ToolSpec{Name: "t", Effect: none, Parameters: json.RawMessage(`{"$ref":"https://example.org/s.json"}`)}}, "not a JSON Schema"},
		"a schema on disk":  {foreign{selvage.ToolSpec{Name: "t", Effect: none, Parameters: json.RawMessage(`{"$ref":"file://` + filepath.ToSlash(onDisk) + `"}`)}}, "not a JSON Schema"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := tool.Bind(tt.tool)
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (!errors.Is(err, selvage.ErrInvalid) || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("error %v, want ... %s", err, tt.want)
			}
		})
	}
}

// A call sees its own patches, and only whole ones.
func TestPatch(t *testing.T) {
	t.Parallel()
	before, err := state.Parse([]byte(`{"n":1}`))
	if err != nil {
		t.Fatal(err)
	}
	c := &tool.Call{ID: "c1", Before: before}
	if err := c.Patch(state.Increment("/n", state.Int(1))); err != nil {
		t.Fatal(err)
	}
	var op *state.OpError
	if err := c.Patch(state.Set("/m", state.Int(1)), state.Increment("/nothing", state.Int(1))); !errors.As(err, &op) {
		t.Errorf("error %v, want an OpError", err)
	}
	if err := c.Patch(state.Set("/m", state.Int(1)), state.Delete("")); !errors.Is(err, state.ErrReserved) {
		t.Errorf("error %v of emptying the state, want ErrReserved", err)
	}
	if err := c.Patch(state.Set("/__calls/c2/draft", state.Int(1))); !errors.Is(err, state.ErrReserved) {
		t.Errorf("error %v of changing another call's state, want ErrReserved", err)
	}
	draft := state.NewKey[string](state.Spec{Name: "draft", Scope: state.ScopeToolCall})
	if err := tool.Set(c, draft, "text"); err != nil {
		t.Fatal(err)
	}
	if got, ok, err := tool.Get(c, draft); got != "text" || !ok || err != nil {
		t.Errorf("draft %q, %v, %v", got, ok, err)
	}
	if got := c.State().String(); got != `{"__calls":{"c1":{"draft":"text"}},"n":2}` {
		t.Errorf("state %s", got)
	}
	if after, err := c.Patches().Apply(before); err != nil || !after.Equal(c.State()) {
		t.Errorf("the patches lead to %s, %v", after, err)
	}
	if c.Before.String() != `{"n":1}` {
		t.Error("the state before the call changed")
	}
	reported := ""
	c.Progress("nobody listens")
	c.OnProgress = func(text string) { reported += text }
	c.Progress("half")
	if reported != "half" {
		t.Errorf("reported %q", reported)
	}
}
