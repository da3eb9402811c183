package selvage

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// OnUnknown says what becomes of a call of a [EffectOnce] tool whose outcome
// nobody knows, because the process died between starting it and recording
// its result.
type OnUnknown string

// The choices.
const (
	// OnUnknownAsk suspends the call with a ticket that says what is known: a
	// decision tells its result, runs it again, or denies it.
	OnUnknownAsk OnUnknown = "ask"
	// OnUnknownProbe asks the tool whether the call took effect, and asks
	// people if the tool cannot tell.
	OnUnknownProbe OnUnknown = "probe"
	// OnUnknownRetry runs the call again with the same idempotency key.
	OnUnknownRetry OnUnknown = "retry"
	// OnUnknownFail ends the call as failed, with a result that says that its
	// outcome is unknown and that it was not repeated.
	OnUnknownFail OnUnknown = "fail"
)

// ToolSpec declares a tool to the model and to the run loop.
type ToolSpec struct {
	Name        string          `json:"name"` // [A-Za-z0-9_-]{1,64}
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // JSON Schema of the arguments
	Effect      Effect          `json:"effect"`
	OnUnknown   OnUnknown       `json:"on_unknown,omitempty"` // for [EffectOnce], and required there
	Timeout     time.Duration   `json:"timeout,omitempty"`    // zero is no timeout
	Caps        []string        `json:"caps,omitempty"`       // what a run must be granted besides tool.NAME
}

// Use returns what a run records about the tool.
func (s *ToolSpec) Use() ToolUse {
	return ToolUse{Name: s.Name, SchemaHash: s.SchemaHash(), Effect: s.Effect}
}

// SchemaHash returns the SHA-256 of the argument schema, white space aside, in
// hex. Two hosts whose tools of a name have the same one can take over each
// other's calls.
func (s *ToolSpec) SchemaHash() string {
	var schema bytes.Buffer
	if json.Compact(&schema, s.Parameters) != nil {
		schema.Reset()
		schema.Write(s.Parameters)
	}
	sum := sha256.Sum256(schema.Bytes())
	return hex.EncodeToString(sum[:])
}

// ToolResult is what a tool call came to. A failed result is an answer too:
// the model reads it and goes on.
type ToolResult struct {
	Content Content `json:"content"`
	Failed  bool    `json:"failed,omitempty"`
}
