package replay_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/replay"
	"github.com/selvagehq/selvage/model/sim"
)

// What a model answered once, a test can have again without asking it.
func Example() {
	dir, err := os.MkdirTemp("", "replay")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "greeting.jsonl")
	request := model.Request{Messages: []selvage.Message{selvage.UserText("hello")}}

	real, _ := sim.New("echo") // or any other model
	recorder, err := replay.Record(path, replay.Options{Secrets: []string{os.Getenv("OPENAI_API_KEY")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = model.Collect(recorder.Model(real).Stream(context.Background(), request))
	if err := recorder.Close(); err != nil {
		fmt.Println(err)
		return
	}

	played, err := replay.Open(path, replay.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := model.Collect(played.Stream(context.Background(), request))
	fmt.Println(answer.Message.Text(), err)

	request.Messages = append(request.Messages, selvage.UserText("and more"))
	_, err = model.Collect(played.Stream(context.Background(), request))
	fmt.Println(model.ClassOf(err))
	// Output:
	// You said: hello <nil>
	// permanent
}
