package model

import (
	"context"
	"iter"

	"github.com/selvagehq/selvage"
)

// Model answers requests. Implementations are safe for concurrent use.
type Model interface {
	// Name is what people call the model, PROVIDER/NAME, such as
	// "openai/gpt-5-mini". It is recorded with the run and never changes.
	Name() string

	// Stream returns the answer to req as a sequence of chunks.
	//
	// Nothing happens until the sequence is ranged over, and each range is one
	// attempt of its own. Chunks come in the order in which the model made
	// them: text and reasoning deltas as they arrive, each tool call once and
	// complete, calls made in parallel in their own order, usage when it is
	// known, and on success exactly one finish, which is last.
	//
	// A failure is the last pair: an empty chunk and an error in which [ClassOf]
	// finds the class. Chunks before it stay valid, but a tool call among them
	// must not be run, because the answer that asked for it never finished. When
	// ctx ends the sequence ends promptly with class [Cancelled], and the error
	// matches the context's.
	//
	// Leaving the range early is always safe: connections are released, and no
	// goroutine of the model outlives the range. req and what it refers to must
	// not change meanwhile; the model does not change it either.
	Stream(ctx context.Context, req Request) iter.Seq2[Chunk, error]
}

// Request is what a model is asked. Only Messages is needed.
type Request struct {
	// System is the instruction that precedes the messages; may be empty.
	System string

	// Messages is the context, oldest first, already cut to the window that
	// the model is to see. Internal messages are part of it. Images and files
	// carry their bytes: a part that only names a blob is refused.
	Messages []selvage.Message

	// Tools are the tools that the model may call.
	Tools []selvage.ToolSpec

	// Prefix is the beginning of the answer, of an attempt that broke off. The
	// answer goes on directly after it and does not repeat it. Empty is a new
	// answer.
	Prefix string

	// MaxOutputTokens bounds the answer. Zero leaves it to the provider.
	MaxOutputTokens int

	// Attempt is how many times this same request was already tried and
	// failed: 0 at first, then 1, 2, ... It does not change what is asked;
	// models that simulate failures, and logs, look at it.
	Attempt int
}

// Pricer is the capability of a model that knows what it costs.
type Pricer interface {
	// Price returns the price of the model's tokens, and false if it is not
	// known, which is not the same as free.
	Price() (Price, bool)
}
