package selvage

import (
	"encoding/json"
	"time"
)

// ToolSpec declares a tool to the model and to the run loop.
type ToolSpec struct {
	Name        string          `json:"name"` // [A-Za-z0-9_-]{1,64}
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // JSON Schema of the arguments
	Effect      Effect          `json:"effect"`
	Timeout     time.Duration   `json:"timeout,omitempty"` // zero is no timeout
}
