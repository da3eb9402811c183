package sim_test

import (
	"context"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/sim"
)

// The last user message decides; a tool's result comes back in the next turn.
func ExampleModel_Stream() {
	m, err := sim.New("echo")
	if err != nil {
		fmt.Println(err)
		return
	}
	messages := []selvage.Message{selvage.UserText(`call price {"item":"tea"} && stock {"item":"tea"}`)}
	for _, result := range [][]string{{"3 euros", "12 boxes"}, nil} {
		answer, err := model.Collect(m.Stream(context.Background(), model.Request{Messages: messages}))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s %q\n", answer.Finish, answer.Message.Text())
		messages = append(messages, answer.Message)
		for i, call := range answer.Message.ToolCalls {
			fmt.Printf("  %s %s\n", call.Name, call.Arguments)
			messages = append(messages, selvage.Message{Role: selvage.RoleTool, ToolCallID: call.ID, Content: selvage.Text(result[i])})
		}
	}
	// Output:
	// tool_calls ""
	//   price {"item":"tea"}
	//   stock {"item":"tea"}
	// stop "Done: 3 euros; 12 boxes"
}
