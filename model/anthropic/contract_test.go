package anthropic_test

import (
	"net/http"
	"testing"

	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/anthropic"
	"github.com/selvagehq/selvage/model/modeltest"
)

func TestModel(t *testing.T) {
	t.Parallel()
	modeltest.Run(t, modeltest.Wire{
		Open: func(t *testing.T, url, key string, client *http.Client) model.Model {
			return open(t, anthropic.Options{Model: "claude-test", BaseURL: url, APIKey: key, HTTPClient: client})
		},
		Half: func(w http.ResponseWriter) { send(w, begin, text, piece("text_delta", "text", "half")) },
		Rest: func(w http.ResponseWriter) { send(w, shut, finish("end_turn"), done) },
	})
}
