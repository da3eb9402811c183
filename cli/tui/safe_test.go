package tui

import "testing"

func TestSafe(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain, ünïcode 世界 👩‍👩‍👧 e\u0301": "plain, ünïcode 世界 👩‍👩‍👧 e\u0301",
		"a\x1b[2Jb":         "a\uFFFD[2Jb",
		"a\x00\x07\x08\x7f": "a\uFFFD\uFFFD\uFFFD\uFFFD",
		"a\u0085\u009b2J":   "a\uFFFD\uFFFD2J", // the same commands in one character
		"a\r\nb\rc":         "a\nb\uFFFDc",
		"\tx":               "    x",
		"gpj\u202efdp.exe":  "gpj\uFFFDfdp.exe",
		"\u2066a\u2069":     "\uFFFDa\uFFFD",
		"a\u200fb\u200e":    "a\uFFFDb\uFFFD",
		"a\u2028b":          "a\uFFFDb",
		"\ufeffa":           "\uFFFDa",
		"\U000E0041":        "\uFFFD",
		"broken \xff":       "broken \uFFFD",
	} {
		if got := safe(in); got != want {
			t.Errorf("safe(%q) = %q; want %q", in, got, want)
		}
	}
}

// TestPrettyKeepsTheText holds that arguments which a person edits or judges
// say what the model asked for, digit by digit, in order, and nothing hidden.
func TestPrettyKeepsTheText(t *testing.T) {
	t.Parallel()
	got := pretty([]byte("{\"z\":9007199254740993.10,\"a\":\"x\u202ey\U000E0041\",\"b\":[1]}"))
	want := "{\n  \"z\": 9007199254740993.10,\n  \"a\": \"x\\u202ey\\udb40\\udc41\",\n  \"b\": [\n    1\n  ]\n}"
	if got != want {
		t.Errorf("pretty = %s; want %s", got, want)
	}
}
