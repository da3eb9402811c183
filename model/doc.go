// Package model is the contract between the run loop and whatever answers it:
// a provider's API, a local server, or a simulation.
//
// A [Model] turns a [Request] into a stream of [Chunk] values and ends it with
// a [Finish] or with a classified [Error]. The stream is an iterator that the
// caller drives: nothing is sent before it is ranged over, and leaving the range
// releases everything it held. [Collect] folds a stream into one assistant
// message; what had arrived before a stream broke is kept. [Price] turns usage
// into money exactly.
//
// A model answers once. It never retries, never runs a tool and never touches
// a store: trying again after a retryable [Class] is the loop's one policy.
// Providers live in their own packages below this one, so that a program links
// only what it imports.
package model
