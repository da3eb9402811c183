// Package replay records what a model answers, and is a model that answers the
// same again: offline, at once and for nothing.
//
// A [Recorder] stands around any model and writes each finished attempt to a
// file: what was asked, what came, what it used, and how it failed if it did. A
// [Model] plays such a file back. It answers a request with what was recorded for
// the same request, in the order of recording if there was more than one answer;
// asked more often, it repeats the last. A request that was never recorded is an
// error that names the first difference to the next request in the recording.
//
// Two requests are the same if they say the same: system prompt, messages, tools,
// prefix and bound. Ids of messages, times, metadata, visibility and signatures do
// not count, and ids of calls only by which call they name, since the run loop
// gives every call an id of its own.
//
// # The file
//
// A recording is lines of JSON: one that says what it is, then one an attempt. It
// is readable by its owner only. A process that dies while it writes leaves part
// of a line, which is passed over. Time is not recorded: chunks come as fast as
// they are taken. Attempts that the caller broke off are not recorded either.
//
// # Secrets
//
// Headers are never seen. In every text, of requests, answers and errors, the
// secrets that the recorder was told of are replaced, and whatever has the shape
// of a key, a token or a password; images and files are recorded as their hash.
// What is played back is the redacted answer. It is still a conversation: look at
// a recording before you share it.
package replay
