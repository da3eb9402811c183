package openai_test

import (
	"net/http"
	"testing"

	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/modeltest"
	"github.com/selvagehq/selvage/model/openai"
)

// Those of others that speak the protocol promise the same.
func TestModel(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"openai", "gemini", "ollama", "vllm"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			modeltest.Run(t, modeltest.Wire{
				Open: func(t *testing.T, url, key string, client *http.Client) model.Model {
					return open(t, openai.Options{Model: "m", Provider: provider, BaseURL: url, APIKey: key, HTTPClient: client})
				},
				Half: func(w http.ResponseWriter) { send(w, text("half")) },
				Rest: func(w http.ResponseWriter) { send(w, finish("stop"), usage, done) },
			})
		})
	}
}
