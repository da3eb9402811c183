package yamlx

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// outline writes a node on one line: what matters of its shape.
func outline(n *Node) string {
	switch n.Kind {
	case Scalar:
		return fmt.Sprintf("%q@%d", n.Text, n.Line)
	case List:
		var parts []string
		for _, item := range n.Items {
			parts = append(parts, outline(item))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case Map:
		var parts []string
		for _, e := range n.Entries {
			parts = append(parts, fmt.Sprintf("%s@%d:%s", e.Key, e.Line, outline(e.Value)))
		}
		return "{" + strings.Join(parts, " ") + "}"
	default:
		return "null"
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"", "null"},
		{"# only a comment\n", "null"},
		{"~\n", "null"},
		{"a: 1\nb:\n  - x\n  - {k: 2020-01-01}\n", `{a@1:"1"@1 b@2:["x"@3 {k@4:"2020-01-01"@4}]}`}, // no dates, no numbers: text
		{"a: 9007199254740993\n", `{a@1:"9007199254740993"@1}`},
		{"a: 'no'\nb: no\n", `{a@1:"no"@1 b@2:"no"@2}`},
		{"a:\nb: null\nc: ''\n", `{a@1:null b@2:null c@3:""@3}`},
		{"a: |\n  one\n  two\n", `{a@1:"one\ntwo\n"@1}`},
		{"7: x\ntrue: y\n", `{7@1:"x"@1 true@2:"y"@2}`},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			n, err := Parse([]byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if got := outline(n); got != tt.want {
				t.Errorf("Parse(%q) = %s; want %s", tt.in, got, tt.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in, why string
		line    int
	}{
		{"a: 1\na: 2\n", "stands on line 1 already", 2},
		{"a: &x 1\nb: *x\n", "anchors", 1},
		{"b: *x\n", "unknown anchor", 1},
		{"<<: {q: 1}\n", "merge keys", 1},
		{"a: [\n", "did not find expected", 2},
		{"a: 1\n  b: 2\n", "not allowed", 2},
		{"? [x]\n: 1\n", "plain text", 1},
		{"~: 1\n", "plain text", 1},
		{"a: 1\n---\nb: 2\n", "second document", 2},
		{"a: \x01\n", "control characters", 0},
		{strings.Repeat("#", MaxBytes+1), "bytes, more than", 0},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			t.Parallel()
			_, err := Parse([]byte(tt.in))
			var fault *Error
			if !errors.As(err, &fault) || !strings.Contains(fault.Reason, tt.why) || fault.Line != tt.line {
				t.Errorf("Parse(%.20q) = %v; want line %d, ...%s...", tt.in, err, tt.line, tt.why)
			}
		})
	}
}

// TestParseBomb: a document that would grow a billionfold is refused before it does.
func TestParseBomb(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 8), i-1)
	}
	if _, err := Parse([]byte(b.String())); err == nil {
		t.Error("Parse read a document full of aliases")
	}
}

func ExampleParse() {
	doc, err := Parse([]byte("store: ./app.db\nlog:\n  level: debug\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range doc.Entries {
		fmt.Println(e.Line, e.Key, e.Value.Kind)
	}
	// Output:
	// 1 store a single value
	// 2 log a mapping
}
