package sim

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/selvagehq/selvage/model"
)

// The greatest numbers that commands take. What is asked for beyond them is
// more likely a slip than a wish.
const (
	maxCount  = 1_000_000
	maxTokens = 1_000_000_000_000
)

// maxToolName is the length of the longest tool name, in bytes.
const maxToolName = 64

// verb is what a command wants.
type verb int

const (
	say verb = iota // no command
	remember
	recall
	callTools
	loop
	stream
	sleep
	fail
	tokens
	describe
)

// command is a user message, understood. Which fields count depends on verb.
type command struct {
	verb  verb
	text  string        // what to remember, or the duration as written
	n     int64         // loop, stream, tokens: N; fail: K, or -1 for every attempt
	delay time.Duration // sleep
	calls []call        // callTools; loop: exactly one
	class model.Class   // fail
}

// call is a tool call without an id.
type call struct {
	tool      string
	arguments json.RawMessage
}

// parse understands text. It returns the zero command for anything else.
func parse(text string) command {
	word, rest := cutWord(strings.TrimSpace(text))
	switch word {
	case "remember":
		if rest != "" {
			return command{verb: remember, text: rest}
		}
	case "recall":
		if rest == "" {
			return command{verb: recall}
		}
	case "context":
		if rest == "" {
			return command{verb: describe}
		}
	case "call":
		if calls, ok := parseCalls(rest); ok {
			return command{verb: callTools, calls: calls}
		}
	case "loop":
		count, rest := cutWord(rest)
		n, ok := parseNumber(count, maxCount)
		if calls, good := parseCalls(rest); ok && good && len(calls) == 1 {
			return command{verb: loop, n: n, calls: calls}
		}
	case "stream":
		if n, ok := parseNumber(rest, maxCount); ok {
			return command{verb: stream, n: n}
		}
	case "tokens":
		if n, ok := parseNumber(rest, maxTokens); ok {
			return command{verb: tokens, n: n}
		}
	case "sleep":
		if d, err := time.ParseDuration(rest); err == nil && d >= 0 {
			return command{verb: sleep, delay: d, text: rest}
		}
	case "fail":
		return parseFail(rest)
	}
	return command{}
}

// parseFail understands what follows fail: CLASS or CLASS K.
func parseFail(rest string) command {
	name, count := cutWord(rest)
	class := model.Class(name)
	switch class {
	case model.RateLimited, model.Transient, model.Quota, model.Permanent, model.Cut:
	default:
		return command{}
	}
	if count == "" {
		return command{verb: fail, class: class, n: -1}
	}
	n, ok := parseNumber(count, maxCount)
	if !ok {
		return command{}
	}
	return command{verb: fail, class: class, n: n}
}

// parseCalls understands TOOL {json}, or several of them joined by &&.
func parseCalls(s string) ([]call, bool) {
	var calls []call
	for {
		tool, rest := cutWord(s)
		if !isToolName(tool) || !strings.HasPrefix(rest, "{") {
			return nil, false
		}
		// The decoder finds the end of the object, whatever its strings hold.
		var arguments json.RawMessage
		d := json.NewDecoder(strings.NewReader(rest))
		if err := d.Decode(&arguments); err != nil || !utf8.Valid(arguments) {
			return nil, false
		}
		calls = append(calls, call{tool, arguments})
		rest = strings.TrimSpace(rest[d.InputOffset():])
		if rest == "" {
			return calls, true
		}
		next, joined := strings.CutPrefix(rest, "&&")
		if !joined {
			return nil, false
		}
		s = strings.TrimSpace(next)
	}
}

// cutWord splits s after its first word and drops the white space between.
func cutWord(s string) (word, rest string) {
	i := strings.IndexFunc(s, unicode.IsSpace)
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimLeftFunc(s[i:], unicode.IsSpace)
}

// parseNumber reads a whole number from 0 to limit, in digits alone.
func parseNumber(s string, limit int64) (int64, bool) {
	n, err := strconv.ParseUint(s, 10, 63)
	return int64(n), err == nil && int64(n) <= limit
}

func isToolName(s string) bool {
	if s == "" || len(s) > maxToolName {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}
