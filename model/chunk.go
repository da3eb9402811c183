package model

import "github.com/selvagehq/selvage"

// Chunk is one piece of an answer. Exactly one field is set.
type Chunk struct {
	// Text continues the text of the answer.
	Text string

	// Reasoning continues what the model shows of its thinking.
	Reasoning string

	// Signature ends the reasoning before it: what the provider wants back with
	// it, in words that only the package of the provider understands. Reasoning
	// that the provider does not show is a signature alone.
	Signature string

	// Writing is a piece of a call that the model is writing: of another one if
	// it has a name, else of the one before. It only tells how far the answer
	// has come: the call comes whole in a ToolCall. Not every model tells.
	Writing *selvage.PartialCall

	// ToolCall is one complete call. Its id is unique in the answer and differs
	// from every call id among the request's messages, and satisfies
	// [selvage.CheckID]. Its arguments are valid JSON: when the model wrote
	// something else, they are a JSON string that holds what it wrote, so
	// that the call can be stored, refused by the tool's schema and corrected.
	ToolCall *selvage.ToolCall

	// Usage is what the answer has cost so far. A later one replaces it.
	Usage *selvage.Usage

	// Finish says that the answer is complete, and why it ended.
	Finish Finish
}

// Finish is why an answer ended.
type Finish string

// The finish reasons.
const (
	FinishStop          Finish = "stop"           // the model had said what it wanted
	FinishToolCalls     Finish = "tool_calls"     // it waits for the results of its calls
	FinishLength        Finish = "length"         // the token limit cut it off
	FinishContentFilter Finish = "content_filter" // the provider withheld the rest
)
