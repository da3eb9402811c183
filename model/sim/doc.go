// Package sim is a model without a provider: deterministic, offline, and a pure
// function of the request. It does what the last user message tells it to, so
// that a test, a demonstration or a drill can make an agent answer, call tools,
// stream, wait or fail on command, and can see exactly which messages reached it.
//
//	the user says                  the model answers
//	remember X                     I will remember: X
//	recall                         You asked me to remember: A; B; C (every earlier
//	                               remember it was given, in order), or I remember nothing.
//	call TOOL {json}               one tool call; call TOOL {json} && TOOL2 {json} makes two
//	                               in one turn; given the results, Done: RESULT; RESULT
//	loop N TOOL {json}             the same call N turns in a row, then Done.
//	stream N                       N chunks 1 2 ... N, 50 ms apart
//	sleep D                        waits D, such as 2s or 150ms, then Slept D.
//	fail CLASS                     an error of that class: rate_limited, transient, quota,
//	                               permanent, or cut, which breaks after half of the text;
//	                               fail CLASS K only in the first K attempts
//	tokens N                       answers, and reports N output tokens
//	context                        Context: M messages, first "..."
//	anything else                  You said: TEXT
//
// A message that is internal is a note of who runs the conversation, not the
// user's. Commands are lower case, and white space around them does not count. What
// only resembles a command is "anything else": a call whose arguments are not a
// JSON object, an unknown class, a negative number, or one above a million (for
// tokens, a million million). TEXT is repeated as it came. The attempt that fail
// counts is [model.Request.Attempt]. A [model.Request.Prefix] that the answer
// begins with is left out of it, and its words count as input.
//
// Words are what white space separates. Input tokens are the words of the
// messages given, output tokens the words of the answer; a tool call has no
// words. An input token costs one micro-dollar and an output token two.
package sim
