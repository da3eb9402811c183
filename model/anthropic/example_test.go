package anthropic_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/anthropic"
)

// Any server that speaks the protocol will do; this one lives in the example.
func ExampleNew() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range [][2]string{
			{"message_start", `{"type":"message_start","message":{"role":"assistant","content":[],"usage":{"input_tokens":8,"output_tokens":1}}}`},
			{"content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`},
			{"content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Good morning."}}`},
			{"content_block_stop", `{"type":"content_block_stop","index":0}`},
			{"message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}`},
			{"message_stop", `{"type":"message_stop"}`},
		} {
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event[0], event[1])
		}
	}))
	defer server.Close()

	m, err := anthropic.New(anthropic.Options{Model: "claude-sonnet-4-5", BaseURL: server.URL, HTTPClient: server.Client()})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := model.Collect(m.Stream(context.Background(), model.Request{
		System:   "Greet the user.",
		Messages: []selvage.Message{selvage.UserText("Hello!")},
	}))
	if err != nil {
		fmt.Println("try again?", model.ClassOf(err).Retryable(), err)
		return
	}
	fmt.Println(m.Name(), "says:", answer.Message.Text())
	fmt.Println(answer.Usage.InputTokens, "tokens in,", answer.Usage.OutputTokens, "out")
	// Output:
	// anthropic/claude-sonnet-4-5 says: Good morning.
	// 8 tokens in, 3 out
}
