package model

import "strings"

// Sized is the capability of a model that knows how much it can be given.
type Sized interface {
	// ContextTokens returns how many tokens the model takes, input and output
	// together, and false if that is not known.
	ContextTokens() (int, bool)
}

// contexts are how many tokens well-known models take, by the beginning of
// their names. The longest one counts.
var contexts = []struct {
	name   string
	tokens int
}{
	{"openai/gpt-5", 400_000}, {"openai/gpt-4.1", 1_047_576}, {"openai/gpt-4o", 128_000}, {"openai/o3", 200_000}, {"openai/o4", 200_000},
	{"anthropic/claude-", 200_000}, {"gemini/gemini-2", 1_048_576}, {"gemini/gemini-3", 1_048_576},
}

// ContextTokens returns how many tokens a model takes, input and output
// together: what it says itself, else what is known of its name. It is false
// if nothing is known.
func ContextTokens(m Model) (int, bool) {
	if sized, ok := m.(Sized); ok {
		if n, known := sized.ContextTokens(); known {
			return n, true
		}
	}
	longest, tokens := 0, 0
	for _, c := range contexts {
		if len(c.name) > longest && strings.HasPrefix(m.Name(), c.name) {
			longest, tokens = len(c.name), c.tokens
		}
	}
	return tokens, longest > 0
}
