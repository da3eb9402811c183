package state_test

import (
	"errors"
	"fmt"

	"github.com/selvagehq/selvage/state"
)

func Example() {
	doc, _ := state.Parse([]byte(`{"title":"Draft","tokens":9007199254740993}`))
	next, err := state.Patch{
		state.Set("/user/name", state.String("Ada")),
		state.Increment("/tokens", state.Int(1)),
		state.Append("/log", state.String("renamed")),
	}.Apply(doc)
	fmt.Println(next, err)
	fmt.Println(doc)
	// Output:
	// {"log":["renamed"],"title":"Draft","tokens":9007199254740994,"user":{"name":"Ada"}} <nil>
	// {"title":"Draft","tokens":9007199254740993}
}

// A set makes what is missing on its way, and destroys nothing that is there.
func ExamplePatch_Apply_failure() {
	doc, _ := state.Parse([]byte(`{"owner":"Ada"}`))
	_, err := state.Patch{state.Set("/owner/name", state.String("Ada"))}.Apply(doc)

	var op *state.OpError
	if errors.As(err, &op) && errors.Is(err, state.ErrTypeMismatch) {
		fmt.Println(op.Path, "-", op.Reason)
	}
	// Output: /owner/name - /owner is a string, not a container
}

// Two tools ran side by side. Their counts add up; their titles cannot both be
// taken.
func ExampleConflicts() {
	a := state.Patch{state.Increment("/calls", state.Int(1)), state.Set("/title", state.String("A"))}
	b := state.Patch{state.Increment("/calls", state.Int(1)), state.Set("/title", state.String("B"))}
	_, onCount := state.Conflicts(a[:1], b[:1])
	conflict, _ := state.Conflicts(a, b)
	fmt.Println(onCount)
	fmt.Println(conflict)
	// Output:
	// false
	// exact conflict at "/title"
}

// A key knows where it lives, how its deltas fold, and when it is cleaned.
func ExampleKey() {
	spent := state.NewKey[int](state.Spec{Name: "spent", Scope: state.ScopeRun, Reducer: state.ReduceSum})
	specs, _ := state.NewSpecs(spent.Spec())

	doc := state.Document{}
	for _, cents := range []int{30, 12} {
		patch, _ := spent.Update(doc, cents)
		doc, _ = patch.Apply(doc)
	}
	total, _, _ := spent.Get(doc)
	fmt.Println(total)

	doc, _ = specs.RunCleanup(doc).Apply(doc) // the next run begins
	fmt.Println(doc)
	// Output:
	// 42
	// {}
}

func ExampleAt() {
	fmt.Println(state.At("files", "src/main.go", "0"))
	// Output: /files/src~1main.go/0
}

// Numbers keep every digit, whatever their size.
func ExampleValue_Equal() {
	a, _ := state.ParseValue([]byte(`12345678901234567890123`))
	b, _ := state.ParseValue([]byte(`12345678901234567890123.0`))
	c, _ := state.ParseValue([]byte(`12345678901234567890124`))
	fmt.Println(a.Equal(b), a.Equal(c), b)
	// Output: true false 12345678901234567890123.0
}
