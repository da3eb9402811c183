package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model/internal/service"
)

// assembly puts tool calls together from the pieces that a stream brings them
// in. Pieces of parallel calls may alternate; their index says which is which.
type assembly struct {
	calls     []*pending
	taken     map[string]bool // ids that no call may have any more
	signature string          // what Google wants back with the first call
}

// pending is a call that may still grow.
type pending struct {
	index     int64
	id, name  string
	arguments strings.Builder
}

// add takes the next piece. The name comes whole in the first piece; servers
// that repeat it mean the same name again.
func (a *assembly) add(piece openai.ChatCompletionChunkChoiceDeltaToolCall) {
	call := a.grows(piece)
	if call == nil {
		call = &pending{index: piece.Index}
		a.calls = append(a.calls, call)
	}
	if call.id == "" {
		call.id = piece.ID
	}
	if call.name == "" {
		call.name = piece.Function.Name
	}
	call.arguments.WriteString(piece.Function.Arguments)
	if a.signature == "" {
		a.signature = thoughtSignature(piece.JSON.ExtraFields["extra_content"].Raw())
	}
}

// grows returns the call that piece belongs to, or nil if it starts one. Some
// servers number every call 0: then another id, or another beginning after the
// arguments were complete, starts the next.
func (a *assembly) grows(piece openai.ChatCompletionChunkChoiceDeltaToolCall) *pending {
	for _, call := range slices.Backward(a.calls) {
		if call.index != piece.Index {
			continue
		}
		otherID := piece.ID != "" && call.id != "" && piece.ID != call.id
		begins := piece.ID == "" && piece.Function.Name != "" && piece.Function.Arguments != "" &&
			call.name != "" && json.Valid([]byte(call.arguments.String()))
		if otherID || begins {
			return nil
		}
		return call
	}
	return nil
}

// finish returns the complete calls in the order of their index, each with an
// id that is its own.
func (a *assembly) finish() ([]selvage.ToolCall, error) {
	slices.SortStableFunc(a.calls, func(x, y *pending) int { return cmp.Compare(x.index, y.index) })
	calls := make([]selvage.ToolCall, 0, len(a.calls))
	for _, p := range a.calls {
		if p.name == "" {
			return nil, errors.New("the model called a tool without naming it")
		}
		calls = append(calls, selvage.ToolCall{
			ID: service.CallID(p.id, a.taken), Name: strings.ToValidUTF8(p.name, "\uFFFD"), Arguments: service.Arguments(p.arguments.String()),
		})
	}
	return calls, nil
}
