package state_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/selvagehq/selvage/state"
)

func TestApply(t *testing.T) {
	t.Parallel()
	tests := []struct {
		doc, op string
		want    any // the document as text, or the class of the error
	}{
		// set
		{`{}`, `{"op":"set","path":"/a/b/c","value":1}`, `{"a":{"b":{"c":1}}}`},
		{`{}`, `{"op":"set","path":"/a/0","value":1}`, `{"a":{"0":1}}`}, // parents are objects
		{`{"a":1}`, `{"op":"set","path":"/a","value":null}`, `{"a":null}`},
		{`{"a":1}`, `{"op":"set","path":"","value":{"b":2}}`, `{"b":2}`},
		{`{"a":1}`, `{"op":"set","path":"","value":[]}`, state.ErrTypeMismatch},
		{`{"a":1}`, `{"op":"set","path":"/a/b","value":1}`, state.ErrTypeMismatch},
		{`{"a":null}`, `{"op":"set","path":"/a/b","value":1}`, state.ErrTypeMismatch},
		{`{"a":[]}`, `{"op":"set","path":"/a/b","value":1}`, state.ErrTypeMismatch},
		{`{"a":"s"}`, `{"op":"set","path":"/a/b/c","value":1}`, state.ErrTypeMismatch},
		{`{"a":[1,2]}`, `{"op":"set","path":"/a/1","value":9}`, `{"a":[1,9]}`},
		{`{"a":[1,2]}`, `{"op":"set","path":"/a/2","value":9}`, state.ErrIndexOutOfRange},
		{`{"a":[1,2]}`, `{"op":"set","path":"/a/-","value":9}`, state.ErrTypeMismatch},
		{`{"a":[1,2]}`, `{"op":"set","path":"/a/01","value":9}`, state.ErrTypeMismatch},
		{`{"a":[{}]}`, `{"op":"set","path":"/a/0/b/c","value":9}`, `{"a":[{"b":{"c":9}}]}`},
		{`{"a":[{}]}`, `{"op":"set","path":"/a/3/b","value":9}`, state.ErrIndexOutOfRange},
		{`{"n":1}`, `{"op":"set","path":"/n","value":12345678901234567890123}`, `{"n":12345678901234567890123}`},
		{`{}`, `{"op":"set","path":"/","value":1}`, `{"":1}`},
		// delete
		{`{"a":1,"b":2}`, `{"op":"delete","path":"/a"}`, `{"b":2}`},
		{`{"a":1}`, `{"op":"delete","path":"/x/y"}`, `{"a":1}`},
		{`{"a":1}`, `{"op":"delete","path":"/a/b"}`, `{"a":1}`},
		{`{"a":null}`, `{"op":"delete","path":"/a/b"}`, `{"a":null}`},
		{`{"a":[1]}`, `{"op":"delete","path":"/a/b"}`, `{"a":[1]}`},
		{`{"a":[1]}`, `{"op":"delete","path":"/a/1"}`, `{"a":[1]}`},
		{`{"a":[1,2,3]}`, `{"op":"delete","path":"/a/1"}`, `{"a":[1,3]}`},
		{`{"a":[1,{"b":2}]}`, `{"op":"delete","path":"/a/1/b"}`, `{"a":[1,{}]}`},
		{`{"a":1}`, `{"op":"delete","path":""}`, `{}`},
		// append
		{`{}`, `{"op":"append","path":"/a/b","value":1}`, `{"a":{"b":[1]}}`},
		{`{"a":[1]}`, `{"op":"append","path":"/a","value":[2]}`, `{"a":[1,[2]]}`},
		{`{"a":"s"}`, `{"op":"append","path":"/a","value":1}`, state.ErrTypeMismatch},
		{`{"a":null}`, `{"op":"append","path":"/a","value":1}`, state.ErrTypeMismatch},
		{`{"a":{}}`, `{"op":"append","path":"/a","value":1}`, state.ErrTypeMismatch},
		{`{"a":[1]}`, `{"op":"append","path":"/a/1","value":1}`, state.ErrIndexOutOfRange},
		{`{}`, `{"op":"append","path":"","value":1}`, state.ErrTypeMismatch},
		// merge
		{`{"a":{"x":1,"y":{"k":1}}}`, `{"op":"merge","path":"/a","value":{"y":{"l":2},"z":null}}`, `{"a":{"x":1,"y":{"l":2},"z":null}}`},
		{`{}`, `{"op":"merge","path":"/a/b","value":{"x":1}}`, `{"a":{"b":{"x":1}}}`},
		{`{}`, `{"op":"merge","path":"/a","value":{}}`, `{"a":{}}`},
		{`{"a":1}`, `{"op":"merge","path":"","value":{"b":2}}`, `{"a":1,"b":2}`},
		{`{"a":1}`, `{"op":"merge","path":"/a","value":{"b":2}}`, state.ErrTypeMismatch},
		{`{"a":null}`, `{"op":"merge","path":"/a","value":{"b":2}}`, state.ErrTypeMismatch},
		{`{}`, `{"op":"merge","path":"/a","value":[]}`, state.ErrTypeMismatch},
		// increment
		{`{"n":9007199254740993}`, `{"op":"increment","path":"/n","value":1}`, `{"n":9007199254740994}`},
		{`{"n":1}`, `{"op":"increment","path":"/n","value":0.5}`, `{"n":1.5}`},
		{`{"n":1.0}`, `{"op":"increment","path":"/n","value":-1}`, `{"n":0}`},
		{`{"n":[1]}`, `{"op":"increment","path":"/n/0","value":1}`, `{"n":[2]}`},
		{`{}`, `{"op":"increment","path":"/n","value":1}`, state.ErrPathNotFound},
		{`{}`, `{"op":"increment","path":"/n/m","value":1}`, state.ErrPathNotFound},
		{`{"n":"1"}`, `{"op":"increment","path":"/n","value":1}`, state.ErrNotANumber},
		{`{"n":null}`, `{"op":"increment","path":"/n","value":1}`, state.ErrNotANumber},
		{`{"n":1}`, `{"op":"increment","path":"/n","value":"1"}`, state.ErrNotANumber},
		{`{"n":1}`, `{"op":"increment","path":"/n/m","value":1}`, state.ErrTypeMismatch},
		{`{"n":[]}`, `{"op":"increment","path":"/n/0","value":1}`, state.ErrIndexOutOfRange},
		{`{}`, `{"op":"increment","path":"","value":1}`, state.ErrNotANumber},
		{`{"n":9223372036854775807}`, `{"op":"increment","path":"/n","value":1}`, state.ErrOverflow},
		{`{"n":-9223372036854775808}`, `{"op":"increment","path":"/n","value":-1}`, state.ErrOverflow},
		{`{"n":12345678901234567890123}`, `{"op":"increment","path":"/n","value":1}`, state.ErrOverflow},
		{`{"n":1e400}`, `{"op":"increment","path":"/n","value":1}`, state.ErrOverflow},
		// insert
		{`{"a":[1,2]}`, `{"op":"insert","path":"/a/0","value":0}`, `{"a":[0,1,2]}`},
		{`{"a":[1,2]}`, `{"op":"insert","path":"/a/2","value":3}`, `{"a":[1,2,3]}`},
		{`{"a":[]}`, `{"op":"insert","path":"/a/0","value":1}`, `{"a":[1]}`},
		{`{"a":[1,2]}`, `{"op":"insert","path":"/a/3","value":3}`, state.ErrIndexOutOfRange},
		{`{"a":[1,2]}`, `{"op":"insert","path":"/a/-","value":3}`, state.ErrTypeMismatch},
		{`{"a":{}}`, `{"op":"insert","path":"/a/0","value":3}`, state.ErrTypeMismatch},
		{`{}`, `{"op":"insert","path":"/a/0","value":3}`, state.ErrPathNotFound},
		{`{}`, `{"op":"insert","path":"/0","value":3}`, state.ErrTypeMismatch},
		{`{}`, `{"op":"insert","path":"","value":3}`, state.ErrTypeMismatch},
		// remove
		{`{"a":[1,2.0,2]}`, `{"op":"remove","path":"/a","value":2}`, `{"a":[1,2]}`},
		{`{"a":[{"x":[1]}]}`, `{"op":"remove","path":"/a","value":{"x":[1.0]}}`, `{"a":[]}`},
		{`{"a":[1]}`, `{"op":"remove","path":"/a","value":9}`, `{"a":[1]}`},
		{`{}`, `{"op":"remove","path":"/a","value":9}`, state.ErrPathNotFound},
		{`{"a":{}}`, `{"op":"remove","path":"/a","value":9}`, state.ErrTypeMismatch},
		// join
		{`{}`, `{"op":"join","path":"/a/b","lattice":"max","value":1.0}`, `{"a":{"b":1.0}}`},
		{`{"a":[1,{"b":2}]}`, `{"op":"join","path":"/a/1/b","lattice":"max","value":9007199254740993}`, `{"a":[1,{"b":9007199254740993}]}`},
		{`{"a":5}`, `{"op":"join","path":"/a","lattice":"max","value":4}`, `{"a":5}`},
		{`{"a~/é":{"x":1}}`, `{"op":"join","path":"/a~0~1é","lattice":"counter","value":{"x":2,"~/é":9007199254740993}}`, `{"a~/é":{"x":2,"~/é":9007199254740993}}`},
		{`{"x":1}`, `{"op":"join","path":"","lattice":"counter","value":{"y":2}}`, `{"x":1,"y":2}`},
		{`{}`, `{"op":"join","path":"","lattice":"flag","value":true}`, state.ErrTypeMismatch},
		{`{"a":null}`, `{"op":"join","path":"/a","lattice":"or_set","value":{}}`, state.ErrTypeMismatch},
		{`{"a":"x"}`, `{"op":"join","path":"/a","lattice":"max","value":1}`, state.ErrTypeMismatch},
		{`{"a":1}`, `{"op":"join","path":"/a","lattice":"max","value":"x"}`, state.ErrTypeMismatch},
		{`{}`, `{"op":"join","path":"/a","lattice":"or_set","value":["x"]}`, state.ErrTypeMismatch},
		{`{"a":1}`, `{"op":"join","path":"/a/b","lattice":"max","value":1}`, state.ErrTypeMismatch},
		{`{"a":[]}`, `{"op":"join","path":"/a/0","lattice":"max","value":1}`, state.ErrIndexOutOfRange},
	}
	for _, tt := range tests {
		t.Run(tt.doc+" "+tt.op, func(t *testing.T) {
			t.Parallel()
			doc := parse(t, tt.doc)
			p, err := state.ParsePatch([]byte("[" + tt.op + "]"))
			if err != nil {
				t.Fatal(err)
			}
			if text, ok := tt.want.(string); ok {
				if got := apply(t, doc, p); got.String() != text {
					t.Errorf("Apply = %v; want %s", got, text)
				}
				return
			}
			got, err := p.Apply(doc)
			var op *state.OpError
			if !errors.As(err, &op) || op.Err != tt.want || op.Path != p[0].Path || op.Kind != p[0].Kind || op.Reason == "" {
				t.Fatalf("Apply = %v, %v; want an OpError of class %v", got, err, tt.want)
			}
			if got.String() != tt.doc {
				t.Errorf("document is %v after a failure; want %s", got, tt.doc)
			}
		})
	}
}

func TestApplyIsAtomic(t *testing.T) {
	t.Parallel()
	doc := parse(t, `{"a":{"n":1},"l":[1,2]}`)
	p := state.Patch{
		state.Set("/a/n", state.Int(2)),
		state.Append("/l", state.Int(3)),
		state.Set("/a/n/x", state.Int(3)),
	}
	got, err := p.Apply(doc)
	var op *state.OpError
	if !errors.As(err, &op) || op.Index != 2 {
		t.Fatalf("Apply = %v; want op 2 to fail", err)
	}
	if want := `op 2 (set "/a/n/x"): type mismatch: /a/n is a number, not a container`; err.Error() != want {
		t.Errorf("error = %s\n want %s", err, want)
	}
	if got.String() != `{"a":{"n":1},"l":[1,2]}` || doc.String() != got.String() {
		t.Errorf("documents = %v, %v", got, doc)
	}
}

func TestApplyMalformedOps(t *testing.T) {
	t.Parallel()
	tests := []struct {
		op   state.Op
		want error
	}{
		{state.Op{}, state.ErrUnknownOp},
		{state.Op{Kind: "splice", Path: "/a"}, state.ErrUnknownOp},
		{state.Op{Kind: state.OpJoin, Path: "/a"}, state.ErrUnknownLattice},
		{state.Join("/a", "gset", state.Null()), state.ErrUnknownLattice},
		{state.Join("a", state.LatticeFlag, state.Bool(true)), state.ErrPointer},
		{state.Set("a", state.Null()), state.ErrPointer},
		{state.Set("/~", state.Null()), state.ErrPointer},
		{state.Delete("a"), state.ErrPointer},
		{state.Set("/\xff", state.Null()), state.ErrPointer},
	}
	for _, tt := range tests {
		if _, err := (state.Patch{tt.op}).Apply(state.Document{}); !errors.Is(err, tt.want) {
			t.Errorf("%v = %v; want %v", tt.op, err, tt.want)
		}
	}
}

// A document that could not be read again must not come into being.
func TestApplyDepth(t *testing.T) {
	t.Parallel()
	path := func(n int) state.Pointer { return state.Pointer(strings.Repeat("/a", n)) }
	deep := func(n int) state.Value { return value(t, strings.Repeat("[", n)+strings.Repeat("]", n)) }
	object := value(t, `{"x":1}`)
	tests := []struct {
		op state.Op
		ok bool
	}{
		{state.Set(path(512), state.Int(1)), true},
		{state.Set(path(513), state.Int(1)), false},
		{state.Set(path(512), deep(1)), false},
		{state.Set(path(1), deep(511)), true},
		{state.Set(path(1), deep(512)), false},
		{state.Set(path(256), deep(256)), true},
		{state.Set(path(256), deep(257)), false},
		{state.Append(path(511), state.Int(1)), true},
		{state.Append(path(512), state.Int(1)), false},
		{state.Append(path(1), deep(510)), true},
		{state.Append(path(1), deep(511)), false},
		{state.Merge(path(511), object), true},
		{state.Merge(path(512), object), false},
		{state.Set(path(1_000_000), state.Int(1)), false},
		{state.Delete(path(1_000_000)), true},
	}
	for _, tt := range tests {
		doc, err := (state.Patch{tt.op}).Apply(state.Document{})
		if (err == nil) != tt.ok || err != nil && !errors.Is(err, state.ErrTooDeep) {
			t.Errorf("%s at depth %d: %v", tt.op.Kind, len(tt.op.Path.Tokens()), err)
			continue
		}
		parse(t, doc.String())
	}
	_, err := state.Patch{state.Insert("/l/0", deep(511))}.Apply(parse(t, `{"l":[]}`))
	if !errors.Is(err, state.ErrTooDeep) {
		t.Errorf("insert = %v; want ErrTooDeep", err)
	}
	if _, err := (state.Patch{state.Insert("/l/0", deep(510))}).Apply(parse(t, `{"l":[]}`)); err != nil {
		t.Errorf("insert = %v", err)
	}
}

func TestParsePatch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want error // nil: must parse, and encode to the same text
	}{
		{`[]`, nil},
		{`[{"op":"set","path":"/a","value":{"b":1.0}},{"op":"delete","path":""}]`, nil},
		{`[{"op":"set","path":"/<é>","value":null}]`, nil},
		{`[{"op":"remove","path":"/a","value":9007199254740993}]`, nil},
		{`{}`, state.ErrTypeMismatch},
		{`null`, state.ErrTypeMismatch},
		{`[1]`, state.ErrTypeMismatch},
		{`[{"op":"set","path":"/a"}]`, state.ErrTypeMismatch},
		{`[{"op":"delete","path":"/a","value":null}]`, state.ErrTypeMismatch},
		{`[{"op":"set","path":"/a","value":1,"from":"/b"}]`, state.ErrTypeMismatch},
		{`[{"Op":"set","path":"/a","value":1}]`, state.ErrTypeMismatch},
		{`[{"path":"/a","value":1}]`, state.ErrTypeMismatch},
		{`[{"op":1,"path":"/a","value":1}]`, state.ErrTypeMismatch},
		{`[{"op":"set","value":1}]`, state.ErrTypeMismatch},
		{`[{"op":"set","path":["a"],"value":1}]`, state.ErrTypeMismatch},
		{`[{"op":"join","path":"/a","lattice":"or_set","value":{"x":{"added":1}}}]`, nil},
		{`[{"op":"join","path":"/a","value":1}]`, state.ErrTypeMismatch},
		{`[{"op":"join","path":"/a","lattice":"max"}]`, state.ErrTypeMismatch},
		{`[{"op":"join","path":"/a","lattice":null,"value":1}]`, state.ErrTypeMismatch},
		{`[{"op":"join","path":"/a","lattice":"gset","value":1}]`, state.ErrUnknownLattice},
		{`[{"op":"set","path":"/a","lattice":"max","value":1}]`, state.ErrTypeMismatch},
		{`[{"op":"delete","path":"/a","lattice":""}]`, state.ErrTypeMismatch},
		{`[{"op":"splice","path":"/a","value":1}]`, state.ErrUnknownOp},
		{`[{"op":"","path":"/a","value":1}]`, state.ErrUnknownOp},
		{`[{"op":"set","path":"a","value":1}]`, state.ErrPointer},
		{`[{"op":"set","path":"/~","value":1}]`, state.ErrPointer},
		{`[{"op":"set","op":"delete","path":"/a","value":1}]`, state.ErrSyntax},
		{`[`, state.ErrSyntax},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			p, err := state.ParsePatch([]byte(tt.in))
			if !errors.Is(err, tt.want) {
				t.Fatalf("ParsePatch = %v, %v; want %v", p, err, tt.want)
			}
			if err == nil && string(p.AppendJSON(nil)) != tt.in {
				t.Errorf("encodes to %s", p.AppendJSON(nil))
			}
		})
	}
}

// Apply agrees with a naive model that copies everything, in its documents and
// in the class of its errors; it never changes its input.
func TestApplyAgreesWithModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc := genDocument().Draw(t, "doc")
		for range rapid.IntRange(1, 3).Draw(t, "patches") {
			p := genPatch(doc, 6, opKinds...).Draw(t, "patch")
			want, at, class := applyModel(doc, p)
			if class == nil {
				doc = apply(t, doc, p)
				if doc.String() != want {
					t.Fatalf("%v\n  = %v\nwant %s", p, doc, want)
				}
				continue
			}
			before := doc.String()
			got, err := p.Apply(doc)
			var op *state.OpError
			if !errors.As(err, &op) || op.Index != at || op.Err != class {
				t.Fatalf("%v on %s = %v; want op %d to fail with %v", p, before, err, at, class)
			}
			if got.String() != before || doc.String() != before {
				t.Fatalf("%v changed %s to %v, %v", p, before, doc, got)
			}
		}
	})
}

// One document may be read and changed by many at once.
func TestApplyConcurrently(t *testing.T) {
	t.Parallel()
	doc, err := state.DocumentOf(numbers(t, 200))
	if err != nil {
		t.Fatal(err)
	}
	doc = apply(t, doc, state.Patch{state.Set("/list", value(t, `[1]`))})
	before := doc.String()
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			for range 50 {
				_, err := state.Patch{
					state.Append("/list", state.Int(int64(i))),
					state.Increment("/key000007", state.Int(1)),
					state.Delete(state.At(fmt.Sprintf("key%06d", i))),
				}.Apply(doc)
				if err != nil || doc.String() != before {
					t.Errorf("document %v, %v", doc, err)
				}
			}
		})
	}
	group.Wait()
}

// Values taken from one document and put into others stay independent.
func TestSharedSubtreesStayIndependent(t *testing.T) {
	t.Parallel()
	doc := state.Document{}
	for i := range 100 {
		doc = apply(t, doc, state.Patch{state.Set(state.At("src", strconv.Itoa(i)), state.Int(0))})
	}
	src, _ := doc.Get("/src")
	before := src.String()
	doc = apply(t, doc, state.Patch{
		state.Set("/one", src), state.Set("/two", src), state.Set("/one/5", state.Int(1)),
		state.Delete("/two/6"), state.Merge("/src", value(t, `{"7":7}`)), state.Set("/one/5", state.Int(2)),
	})
	if src.String() != before {
		t.Error("the value that was shared changed")
	}
	for path, want := range map[state.Pointer]string{"/one/5": "2", "/two/5": "0", "/src/5": "0", "/src/7": "7", "/one/6": "0", "/one/7": "0"} {
		if v, _ := doc.Get(path); v.String() != want {
			t.Errorf("%s = %v; want %s", path, v, want)
		}
	}
	if _, ok := doc.Get("/two/6"); ok {
		t.Error("/two/6 is still there")
	}
}
