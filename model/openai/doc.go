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
// answer without usage reports none, and reasoning is read under both of the
// names that it goes by.
package openai
