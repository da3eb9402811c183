package tool_test

import (
	"context"
	"encoding/json"
	"errors"
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

// A payment above a limit waits for somebody's approval; one that a crash
// interrupted is looked for before anybody is asked.
func Example_gate() {
	type in struct {
		To    string `json:"to"`
		Cents int64  `json:"cents"`
	}
	paid := map[string]int64{} // by idempotency key, at the bank
	pay := tool.New("pay", "Pays a bill.", func(_ context.Context, c *tool.Call, in in) (string, error) {
		paid[c.IdempotencyKey] = in.Cents
		return fmt.Sprintf("paid %d to %s", in.Cents, in.To), nil
	}, tool.Options{
		Effect: selvage.EffectOnce, OnUnknown: tool.ProbeUnknown,
		Gate: func(_ context.Context, c *tool.Call) error {
			var in in
			if err := json.Unmarshal(c.Arguments, &in); err != nil {
				return err
			}
			if in.Cents <= 1000 {
				return nil
			}
			return tool.Suspend(selvage.Ticket{Reason: selvage.WaitApproval, Details: c.Arguments,
				Message: fmt.Sprintf("pay %d to %s?", in.Cents, in.To)})
		},
		Probe: func(_ context.Context, c *tool.Call) (tool.Finding, selvage.ToolResult, error) {
			if cents, ok := paid[c.IdempotencyKey]; ok {
				return tool.Happened, tool.Text(fmt.Sprintf("had paid %d", cents)), nil
			}
			return tool.Untouched, selvage.ToolResult{}, nil
		},
	})
	bound, err := tool.Bind(pay)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	small := &tool.Call{IdempotencyKey: "call-1", Arguments: json.RawMessage(`{"to":"baker","cents":300}`)}
	large := &tool.Call{IdempotencyKey: "call-2", Arguments: json.RawMessage(`{"to":"landlord","cents":90000}`)}
	fmt.Println("small:", bound.Gate(ctx, small))
	var waits *tool.Suspended
	fmt.Println("large:", errors.As(bound.Gate(ctx, large), &waits), waits.Ticket.Message)

	result, _ := bound.Run(ctx, small)
	fmt.Println(result.Content.Text())
	for _, c := range []*tool.Call{small, large} {
		found, result, err := bound.Probe(ctx, c)
		fmt.Println(c.IdempotencyKey, found, result.Content.Text(), err)
	}
	// Output:
	// small: <nil>
	// large: true pay 90000 to landlord?
	// paid 300 to baker
	// call-1 happened had paid 300 <nil>
	// call-2 untouched  <nil>
}
