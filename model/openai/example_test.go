package openai_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/openai"
)

// Any server that speaks the protocol will do; this one lives in the example.
func ExampleNew() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, frame := range []string{
			`{"choices":[{"index":0,"delta":{"content":"Good "}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"morning."},"finish_reason":"stop"}]}`,
			`{"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":3}}`,
			`[DONE]`,
		} {
			fmt.Fprintf(w, "data: %s\n\n", frame)
		}
	}))
	defer server.Close()

	m, err := openai.New(openai.Options{
		Provider:   "ollama",
		Model:      "llama3.2",
		BaseURL:    server.URL + "/v1",
		HTTPClient: server.Client(),
	})
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
	// ollama/llama3.2 says: Good morning.
	// 8 tokens in, 3 out
}
