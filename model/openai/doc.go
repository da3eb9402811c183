// Package openai speaks the chat completions protocol: OpenAI's own service and
// every server that is compatible with it, such as Ollama, vLLM or Gemini's
// compatible endpoint.
//
// It sends one streaming request an attempt through the official SDK, whose
// retries are off, and reads nothing from the environment. Errors are
// classified for the loop that retries, and hold neither the key nor a header.
//
// Servers that are only nearly compatible are met half way: missing or repeated
// call ids are replaced, arguments that are not JSON are kept as a string, an
// answer without usage reports none, reasoning is read under both of the names
// that it goes by, and instructions stand at the beginning, where every template
// takes them, or else in the user's words. The signatures that Google's models
// ask for go back to them with their calls.
//
// A [model.Request.Prefix] is sent as an unfinished message of the assistant to a
// server that goes on with it ([Options.Continues]). Any other is shown the
// beginning and asked in the user's name to go on exactly where it stopped; what
// it repeats nevertheless is dropped.
package openai
