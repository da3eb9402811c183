package state_test

import (
	"fmt"

	"github.com/selvagehq/selvage/state"
)

// Two tools read the same tags and change them side by side. Both patches can be
// taken, in any order: what one adds stays although the other removes it.
func ExampleJoin() {
	doc, _ := state.Parse([]byte(`{"tags":{"draft":{"added":1},"go":{"added":1}}}`))
	tags, _ := doc.Get("/tags")
	read, _ := state.ORSetOf(tags)

	one, _ := read.Add("go", "db")
	two, _ := read.Remove("go", "draft")
	a := state.Patch{state.Join("/tags", state.LatticeORSet, one.Delta())}
	b := state.Patch{state.Join("/tags", state.LatticeORSet, two.Delta())}
	_, conflict := state.Conflicts(a, b)

	doc, _ = append(b, a...).Apply(doc)
	tags, _ = doc.Get("/tags")
	both, _ := state.ORSetOf(tags)
	fmt.Println(conflict, both.Elements())
	fmt.Println(tags)
	// Output:
	// false [db go]
	// {"db":{"added":2},"draft":{"added":1,"removed":2},"go":{"added":2,"removed":2}}
}

// Each writer counts under a name of its own. A count that arrives twice counts
// once.
func ExampleCounter() {
	doc := state.Document{}
	for _, node := range []string{"worker-1", "worker-2", "worker-1"} {
		hits, _ := doc.Get("/hits")
		counter, _ := state.CounterOf(hits)
		counter, _ = counter.Add(node, 10)
		join := state.Join("/hits", state.LatticeCounter, counter.Delta())
		doc, _ = state.Patch{join, join}.Apply(doc)
	}
	hits, _ := doc.Get("/hits")
	counter, _ := state.CounterOf(hits)
	total, err := counter.Total()
	fmt.Println(total, err, hits)
	// Output: 30 <nil> {"worker-1":20,"worker-2":10}
}

// A map of tasks, each of them a register, that can be put and removed anywhere.
func ExampleORMap() {
	var tasks state.ORMap
	var title state.Register
	title, _ = title.Set(state.String("write the tests"))
	tasks, _ = tasks.Put("t/1", state.LatticeRegister, title.Value())
	doc, _ := state.Patch{state.Join("/tasks", state.LatticeORMap, tasks.Delta())}.Apply(state.Document{})
	fmt.Println(doc)

	stored, _ := doc.Get("/tasks")
	tasks, _ = state.ORMapOf(stored)
	tasks, _ = tasks.Remove("t/1")
	fmt.Println(tasks.Keys(), tasks.Delta())
	// Output:
	// {"tasks":{"t/1":{"added":1,"lattice":"register","value":{"clock":1,"value":"write the tests"}}}}
	// [] {"t/1":{"removed":2}}
}

// A spec with a lattice reduces by joins.
func ExampleSpec_lattice() {
	seen := state.NewKey[[]string](state.Spec{Name: "seen", Lattice: state.LatticeSet})
	doc := state.Document{}
	for _, page := range []string{"/b", "/a", "/b"} {
		patch, _ := seen.Update(doc, []string{page})
		doc, _ = patch.Apply(doc)
		fmt.Println(len(patch), doc)
	}
	// Output:
	// 1 {"seen":["/b"]}
	// 1 {"seen":["/a","/b"]}
	// 0 {"seen":["/a","/b"]}
}

func ExampleDiff() {
	a, _ := state.Parse([]byte(`{"plan":["read the code","write","ship"],"spent":9007199254740992}`))
	b, _ := state.Parse([]byte(`{"plan":["read the code","test","write","ship"],"spent":9007199254740993}`))
	for _, op := range state.Diff(a, b) {
		text, _ := op.MarshalJSON()
		fmt.Println(string(text))
	}
	// Output:
	// {"op":"insert","path":"/plan/1","value":"test"}
	// {"op":"set","path":"/spent","value":9007199254740993}
}

// A JSON patch is read for one document: its tests are made at once.
func ExampleFromJSONPatch() {
	doc, _ := state.Parse([]byte(`{"title":"Draft","log":[]}`))
	patch, err := state.FromJSONPatch(doc, []byte(`[
		{"op":"test","path":"/title","value":"Draft"},
		{"op":"move","from":"/title","path":"/name"},
		{"op":"add","path":"/log/-","value":"renamed"}]`))
	fmt.Println(string(patch.AppendJSON(nil)), err)

	_, err = state.FromJSONPatch(doc, []byte(`[{"op":"test","path":"/title","value":"Final"}]`))
	fmt.Println(err)
	// Output:
	// [{"op":"delete","path":"/title"},{"op":"set","path":"/name","value":"Draft"},{"op":"append","path":"/log","value":"renamed"}] <nil>
	// JSON patch: op 0 (test "/title"): test failed: "/title" is "Draft", not "Final"
}

func ExamplePatch_ToJSONPatch() {
	doc, _ := state.Parse([]byte(`{"tokens":9007199254740993}`))
	patch := state.Patch{state.Increment("/tokens", state.Int(1)), state.Set("/user/name", state.String("Ada"))}
	text, err := patch.ToJSONPatch(doc)
	fmt.Println(string(text), err)
	// Output: [{"op":"replace","path":"/tokens","value":9007199254740994},{"op":"add","path":"/user","value":{"name":"Ada"}}] <nil>
}

func ExampleFromMergePatch() {
	doc, _ := state.Parse([]byte(`{"title":"Draft","author":{"name":"Ada","mail":"ada@example.org"}}`))
	patch, err := state.FromMergePatch(doc, []byte(`{"author":{"mail":null},"title":"Final"}`))
	fmt.Println(string(patch.AppendJSON(nil)), err)
	// Output: [{"op":"delete","path":"/author/mail"},{"op":"set","path":"/title","value":"Final"}] <nil>
}

func ExampleValue_AppendCanonical() {
	a, _ := state.ParseValue([]byte(`{"n": 12.50e1, "id": 9007199254740993.0}`))
	b, _ := state.ParseValue([]byte(`{"id": 9007199254740993, "n": 125}`))
	fmt.Println(string(a.AppendCanonical(nil)))
	fmt.Println(string(b.AppendCanonical(nil)), a.Equal(b))
	// Output:
	// {"id":9007199254740993,"n":125}
	// {"id":9007199254740993,"n":125} true
}

// A program that keeps its budget as an object since version 1 meets a thread
// that has a number.
func ExampleSpecs_Migrate() {
	specs, _ := state.NewSpecs(state.Spec{Name: "budget", Version: 1, Migrations: map[int]state.MigrateFunc{
		0: func(v state.Value) (state.Value, error) {
			return state.ValueOf(map[string]any{"cents": v, "currency": "USD"})
		},
	}})
	doc, _ := state.Parse([]byte(`{"budget":500,"title":"Draft"}`))
	patch, err := specs.Migrate(doc)
	doc, _ = patch.Apply(doc)
	fmt.Println(doc, err)

	older, _ := state.NewSpecs(state.Spec{Name: "budget"})
	_, err = older.Migrate(doc)
	fmt.Println(err)
	// Output:
	// {"__specs":{"budget":1},"budget":{"cents":500,"currency":"USD"},"title":"Draft"} <nil>
	// unknown version of state: state "budget" is at version 1, this program knows it up to version 0; upgrade the program
}
