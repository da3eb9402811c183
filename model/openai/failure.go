package openai

import (
	"errors"
	"net/http"

	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/selvagehq/selvage/model/internal/service"
)

// failure classifies what ended an attempt before its answer was finished: a
// refusal by res, an error frame, garbage, the connection, or for a nil err the
// plain end of the stream.
func (m *Model) failure(res *http.Response, err error, output bool) error {
	f := service.Failures{
		Key:      m.options.APIKey,
		NoStream: "the server did not answer with an event stream; is the base URL the one of a compatible API, such as http://localhost:11434/v1?",
	}
	var frame *ssestream.StreamError
	switch {
	case service.Refused(res):
		// The SDK has read the body and put it back.
		return f.Refusal(res)
	case errors.As(err, &frame):
		return f.Frame(frame.Event.Data, output)
	default:
		return f.Broken(res, err, output)
	}
}
