package sqlite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/selvagehq/selvage"
)

// forbidden begin the statements that would end the transaction, or reach
// beyond it.
var forbidden = []string{"BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE", "ATTACH", "DETACH", "PRAGMA", "VACUUM"}

// checkStatement refuses text that holds a forbidden statement. The error
// matches [selvage.ErrInvalid].
func checkStatement(query string) error {
	trigger := false
	for words := range statements(query) {
		if len(words) == 0 {
			continue
		}
		trigger = trigger || words[0] == "CREATE" && slices.Contains(words, "TRIGGER")
		if words[0] == "END" && trigger {
			continue // which ends the body of the trigger
		}
		if slices.Contains(forbidden, words[0]) {
			return &selvage.InvalidError{Field: "statement", Reason: fmt.Sprintf("%s is not for a transaction that AppendTx begins and ends", words[0])}
		}
	}
	return nil
}

// statements yields the first words of each statement of a text, in upper
// case.
func statements(text string) func(yield func([]string) bool) {
	return func(yield func([]string) bool) {
		var words []string
		for text != "" {
			token, word := nextToken(text)
			text = text[len(token):]
			switch {
			case token == ";":
				if !yield(words) {
					return
				}
				words = words[:0]
			case word && len(words) < 3:
				words = append(words, strings.ToUpper(token))
			}
		}
		yield(words)
	}
}

// nextToken cuts the first token off a text that is not empty: a word, what is
// in quotes, a comment, or one byte of anything else. A byte order mark, which
// SQLite skips, is such a byte.
func nextToken(text string) (token string, word bool) {
	upTo := func(open int, end string) string {
		if i := strings.Index(text[open:], end); i >= 0 {
			return text[:open+i+len(end)]
		}
		return text
	}
	switch c := text[0]; {
	case c == '\'' || c == '"' || c == '`':
		return upTo(1, string(c)), false // a doubled quote is two tokens, to the same end
	case c == '[':
		return upTo(1, "]"), false
	case strings.HasPrefix(text, "--"):
		return upTo(2, "\n"), false
	case strings.HasPrefix(text, "/*"):
		return upTo(2, "*/"), false
	case letter(c):
		n := 1
		for n < len(text) && (letter(text[n]) || text[n] >= '0' && text[n] <= '9') {
			n++
		}
		return text[:n], true
	default:
		return text[:1], false
	}
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }
