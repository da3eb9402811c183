// Package selvage is the vocabulary of durable agent threads: what a thread is,
// how it changes, and what a store must promise about it.
//
// A [Thread] is one line of conversation and work: messages, a JSON state
// document, runs, tool calls. It changes only through a [ChangeSet], which a
// [Store] appends completely or not at all, and only while the caller's
// [Precondition] on the thread's [Version] holds. The log of those changes is
// hash-chained and is the only truth: heads, message pages, run lists and state
// documents are views of it. Everything else in this module, from backends to
// the run loop, is built on that one sentence.
//
// This package does no IO. It imports the standard library and the package
// [github.com/selvagehq/selvage/state], never another package of the module.
package selvage
