package sim

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzParse checks that whatever the user says is understood within bounds, and
// that an understood call says the same when it is written out again.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"", "hello", "remember X", "recall", "context", "stream 3", "sleep 1.5s", "tokens 7", "fail cut 2",
		`call a {"x":"&& b {}"} && b {}`, "loop 3 note {}", "call a {", "loop 9223372036854775808 a {}", "\u00a0recall\u2003", "call a {}\x00",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := parse(text)
		switch c.verb {
		case stream, loop:
			if c.n < 0 || c.n > maxCount {
				t.Errorf("%q counts to %d", text, c.n)
			}
		case tokens:
			if c.n < 0 || c.n > maxTokens {
				t.Errorf("%q is %d tokens", text, c.n)
			}
		case sleep:
			if c.delay < 0 {
				t.Errorf("%q sleeps %s", text, c.delay)
			}
		case remember:
			if c.text != strings.TrimSpace(c.text) || c.text == "" {
				t.Errorf("%q remembers %q", text, c.text)
			}
		}
		if (len(c.calls) > 0) != (c.verb == callTools || c.verb == loop) {
			t.Errorf("%q has verb %d and %d calls", text, c.verb, len(c.calls))
		}
		var written []string
		for _, call := range c.calls {
			var object map[string]json.RawMessage
			if err := json.Unmarshal(call.arguments, &object); err != nil || object == nil || !utf8.Valid(call.arguments) {
				t.Errorf("%q calls %s with %q: %v", text, call.tool, call.arguments, err)
			}
			written = append(written, call.tool+" "+string(call.arguments))
		}
		if c.verb == callTools {
			if again := parse("call " + strings.Join(written, " && ")); fmt.Sprint(again) != fmt.Sprint(c) {
				t.Errorf("%q is %v, and written out again %v", text, c, again)
			}
		}
	})
}

// FuzzSplit checks that chunks lose nothing and hold one word each.
func FuzzSplit(f *testing.F) {
	for _, text := range []string{"", " ", "a", " a  b\n", "é\u2003ü", "a\xffb c"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		chunks := split(text)
		if joined := strings.Join(chunks, ""); joined != text {
			t.Errorf("the chunks of %q join to %q", text, joined)
		}
		words := len(strings.Fields(text))
		if blank := words == 0 && text != ""; len(chunks) != words && !(blank && len(chunks) == 1) {
			t.Errorf("%q has %d words and %d chunks", text, words, len(chunks))
		}
	})
}
