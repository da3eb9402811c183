// Package anthropic speaks Anthropic's messages protocol, to Anthropic's own
// service and to whatever else offers it.
//
// It sends one streaming request an attempt through the official SDK, whose
// retries are off, and reads nothing from the environment. Errors are
// classified for the loop that retries, and hold neither the key nor a header.
//
// # Conversations
//
// The protocol wants users and assistants in turn, the results of all calls of a
// turn at the beginning of the very next message, no empty content, and
// instructions apart from the conversation. What is given in another shape is
// put into that one: neighbours of one role become one message, results move to
// their calls, a call without a result gets one that says so, a result without
// its call becomes text, instructions at the beginning go to the system prompt
// and later ones into the user's message, and what would begin or end with the
// assistant begins or ends with a short word of the user.
//
// # Thinking
//
// With [Options.Thinking] the model thinks before it answers. What it shows is
// reasoning, and so is what it does not show: a signature without text. The
// signature goes back to the provider with its reasoning; reasoning of other
// providers, or of an answer that broke off, is left out.
//
// # Going on with an answer
//
// A [model.Request.Prefix] is sent as the beginning of the assistant's message to
// the models that go on with one: Claude 3 to 4.5, without thinking. All others
// refuse a conversation that ends with the assistant. They are shown the
// beginning and asked in the user's name to go on exactly where it stopped, and
// what they repeat nevertheless is dropped.
package anthropic
