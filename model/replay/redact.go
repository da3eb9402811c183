package replay

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

const (
	// hidden stands where a secret stood.
	hidden = "[secret]"
	// minSecret is how long a secret is at least. A shorter one is a placeholder,
	// and may be part of any word.
	minSecret = 8
)

// shapes are what secrets look like. A group, if there is one, is the secret
// itself.
var shapes = []*regexp.Regexp{
	regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`),
	regexp.MustCompile(`\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}`),                             // OpenAI, Anthropic and others
	regexp.MustCompile(`\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{16,}`),                 // Stripe
	regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{30,}`),                                      // Google
	regexp.MustCompile(`\bya29\.[A-Za-z0-9_-]{20,}`),                                    // Google
	regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})`), // GitHub
	regexp.MustCompile(`\bglpat-[A-Za-z0-9_-]{20,}`),                                    // GitLab
	regexp.MustCompile(`\bxox[abeprs]-[A-Za-z0-9-]{10,}`),                               // Slack
	regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`),                                 // AWS
	regexp.MustCompile(`\bhf_[A-Za-z0-9]{30,}`),                                         // Hugging Face
	regexp.MustCompile(`\bnpm_[A-Za-z0-9]{30,}`),                                        // npm
	regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+`),  // JSON web tokens
	regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+([A-Za-z0-9._~+/=-]{16,})`),
	regexp.MustCompile(`://[^\s/:@"]*:([^\s/@"]+)@`), // a password in a URL
	regexp.MustCompile(`(?i)(?:api[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token|refresh[_-]?token|client[_-]?secret|secret[_-]?key|passw(?:or)?d|passphrase)\\?["']?\s*[:=]\s*\\?["']?([^\s"'\\,;&}]{6,})`),
}

// secretName tells fields of arguments whose whole value is a secret.
var secretName = regexp.MustCompile(`(?i)^(?:api[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token|refresh[_-]?token|token|client[_-]?secret|secret[_-]?key|secret|passw(?:or)?d|passphrase|authorization|private[_-]?key)$`)

// redactor replaces secrets. It is safe for concurrent use.
type redactor struct {
	known []string
}

func newRedactor(secrets []string) *redactor {
	r := &redactor{}
	for _, s := range secrets {
		if s = strings.TrimSpace(s); len(s) >= minSecret {
			r.known = append(r.known, s)
		}
	}
	// A secret that is part of another must not leave the rest of it.
	slices.SortFunc(r.known, func(a, b string) int { return len(b) - len(a) })
	return r
}

// text returns s without secrets.
func (r *redactor) text(s string) string {
	for _, secret := range r.known {
		s = strings.ReplaceAll(s, secret, hidden)
	}
	for _, shape := range shapes {
		if shape.NumSubexp() == 0 {
			s = shape.ReplaceAllLiteralString(s, hidden)
			continue
		}
		s = shape.ReplaceAllStringFunc(s, func(found string) string {
			at := shape.FindStringSubmatchIndex(found)
			return found[:at[2]] + hidden + found[at[3]:]
		})
	}
	return s
}

// raw returns JSON without secrets in its strings. What is not touched stays as
// it is written, numbers and order included.
func (r *redactor) raw(data json.RawMessage) json.RawMessage {
	var out []byte
	name := "" // of the field whose value comes next
	for i := 0; i < len(data); {
		if data[i] != '"' {
			if c := data[i]; c != ':' && c != ' ' {
				name = ""
			}
			out = append(out, data[i])
			i++
			continue
		}
		end := literal(data, i)
		var text string
		if json.Unmarshal(data[i:end], &text) != nil {
			return append(out, r.torn(name, string(data[i:]))...)
		}
		clean := r.text(text)
		if name != "" && text != "" && secretName.MatchString(name) {
			clean = hidden
		}
		if clean == text {
			out = append(out, data[i:end]...)
		} else {
			quoted, _ := json.Marshal(clean) // a string always has JSON
			out = append(out, quoted...)
		}
		if name, i = "", end; end < len(data) && data[end] == ':' {
			name = text
		}
	}
	return out
}

// torn returns the rest of what was to become JSON, from the string on that is
// not complete.
func (r *redactor) torn(name, rest string) string {
	if name != "" && secretName.MatchString(name) {
		return `"` + hidden
	}
	return r.text(rest)
}

// literal returns where the string that begins at i ends.
func literal(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}

// chunks returns what an answer said without secrets, also one that its pieces
// share. The pieces of a call that is being written become one.
func (r *redactor) chunks(chunks []chunk) []chunk {
	var out []chunk
	for i := 0; i < len(chunks); {
		end := i + 1
		for end < len(chunks) && goesOn(&chunks[i], &chunks[end]) {
			end++
		}
		out = append(out, r.run(chunks[i:end])...)
		i = end
	}
	return out
}

// goesOn reports whether b continues what a began.
func goesOn(a, b *chunk) bool {
	switch {
	case a.Text != "":
		return b.Text != ""
	case a.Reasoning != "":
		return b.Reasoning != ""
	default:
		return a.Writing != nil && b.Writing != nil && b.Writing.Name == ""
	}
}

// run returns chunks that go on with one another without secrets.
func (r *redactor) run(chunks []chunk) []chunk {
	first := chunks[0]
	var text, reasoning, arguments strings.Builder
	for i := range chunks {
		text.WriteString(chunks[i].Text)
		reasoning.WriteString(chunks[i].Reasoning)
		if w := chunks[i].Writing; w != nil {
			arguments.WriteString(w.Arguments)
		}
	}
	switch {
	case first.Writing != nil:
		call := *first.Writing
		call.Arguments = string(r.raw(json.RawMessage(arguments.String())))
		first.Writing = &call
	case first.ToolCall != nil:
		call := *first.ToolCall
		call.Arguments = r.raw(compact(call.Arguments))
		first.ToolCall = &call
	default:
		said, thought := r.text(text.String()), r.text(reasoning.String())
		if said == text.String() && thought == reasoning.String() {
			return chunks
		}
		first.Text, first.Reasoning = said, thought
	}
	return []chunk{first}
}
