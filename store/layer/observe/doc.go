// Package observe is a layer over a [selvage.Store] that tells what the store
// does and how long that takes: as records of a slog logger, as OpenTelemetry
// spans, and as Prometheus metrics. Each of the three is there if it is asked
// for.
//
// None of them ever holds content: no message, no state, no metadata, and no
// text of an error about what a caller sent, which may quote it. Threads are
// named in records and spans, and in no metric. The text of an error is told
// where it is about the store and not about the call: unavailable, unknown
// outcome, corrupt, unsupported.
//
// It imports the OpenTelemetry API alone: where spans go is up to the program.
package observe
