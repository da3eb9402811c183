package tool_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/tool"
)

// A tool is a function; what the model sends is checked before it runs.
func ExampleFunc() {
	type in struct {
		City string `json:"city" jsonschema:"name of the city"`
		Days int    `json:"days,omitempty"`
	}
	forecast := tool.Func("forecast", "Tells the weather.", func(_ context.Context, in in) (string, error) {
		return "rain in " + in.City, nil
	}, tool.Options{Effect: selvage.EffectNone})

	bound, err := tool.Bind(forecast)
	if err != nil {
		fmt.Println(err)
		return
	}
	good := &tool.Call{Arguments: json.RawMessage(`{"city":"Bergen"}`)}
	result, err := bound.Run(context.Background(), good)
	fmt.Println(result.Content.Text(), err)

	fmt.Println(bound.Check(&tool.Call{Arguments: json.RawMessage(`{"days":"two"}`)}))
	// Output:
	// rain in Bergen <nil>
	// the arguments of forecast are not valid:
	// - arguments: missing property 'city'
	// - /days: got string, want integer
}

// A tool that changes the thread's state proposes a patch, which is recorded
// with its result.
func ExampleNew() {
	total := state.NewKey[int64](state.Spec{Name: "total", Reducer: state.ReduceSum})
	type in struct {
		Cents int64 `json:"cents"`
	}
	add := tool.New("add", "Adds to the bill.", func(_ context.Context, c *tool.Call, in in) (string, error) {
		if err := tool.Update(c, total, in.Cents); err != nil {
			return "", err
		}
		sum, _, err := tool.Get(c, total)
		return fmt.Sprintf("the bill is now %d", sum), err
	}, tool.Options{Effect: selvage.EffectIdempotent})

	before, _ := state.Parse([]byte(`{"total":250}`))
	call := &tool.Call{Arguments: json.RawMessage(`{"cents":100}`), Before: before}
	result, err := add.Run(context.Background(), call)
	fmt.Println(result.Content.Text(), err)
	patches, _ := call.Patches().MarshalJSON()
	fmt.Println(string(patches))
	// Output:
	// the bill is now 350 <nil>
	// [{"op":"increment","path":"/total","value":100}]
}
