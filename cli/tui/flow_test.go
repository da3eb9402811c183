package tui

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var documents = map[string]string{
	"blocks":    "# Head\n\npara one\nline two\n\n- a\n\n  more of a\n- b\n  - c\n\nafter\n\n1. x\n\n2. y\n\n> quote\n> more\n\nend",
	"code":      "before\n```go\nfunc f() {\n\n}\n```\nafter\n\n~~~\ntilde ```\n~~~\n\n- item\n\n  ```\n  in\n\n  list\n  ```\n- next\n",
	"unclosed":  "text\n\n```\nnever\n\nends",
	"table":     "| a | b |\n|---|:-:|\n| 1 | **2** |\n\ntail",
	"empty":     "\n\n\n",
	"rule":      "a\n\n---\n\nb\n\n***",
	"html":      "<div>\nx\n</div>\n\n&amp; &lt;b&gt; \\*not\\*",
	"emptycode": "```\n```\n\nx",
}

// TestFlowIsTheSameInPieces holds that an answer looks the same however it was
// cut into pieces on its way.
func TestFlowIsTheSameInPieces(t *testing.T) {
	p := paletteOf(false)
	for name, text := range documents {
		settled, tail := newFlow(text).lines(p, 40)
		want := append(append([]string{}, settled...), tail...)
		for _, size := range []int{1, 2, 3, 7} {
			f := newFlow("")
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				f.add(rest[:n])
				rest = rest[n:]
				f.lines(p, 40) // as it is looked at meanwhile
			}
			settled, tail := f.lines(p, 40)
			if diff := cmp.Diff(want, append(append([]string{}, settled...), tail...)); diff != "" {
				t.Errorf("%s in pieces of %d:\n%s", name, size, diff)
			}
			if f.said() != text {
				t.Errorf("%s: said %q", name, f.said())
			}
		}
	}
}

// TestFlowMatchesWhole holds that rendering by blocks is rendering the whole.
func TestFlowMatchesWhole(t *testing.T) {
	p := paletteOf(false)
	for name, text := range documents {
		settled, tail := newFlow(text).lines(p, 40)
		got := strings.Join(append(append([]string{}, settled...), tail...), "\n")
		if want := strings.Join(p.markdown(text, 40), "\n"); got != want {
			t.Errorf("%s by blocks:\n%s\n--- as a whole:\n%s", name, got, want)
		}
	}
}

// TestFlowBoundsItsTail holds that what is rendered again with each piece
// stays small: text without a single boundary included.
func TestFlowBoundsItsTail(t *testing.T) {
	p := paletteOf(false)
	for name, unit := range map[string]string{"words": "word ", "lines": "a line\n", "none": "x", "wide": "世", "code": "code\n"} {
		f := newFlow("")
		if name == "code" {
			f.add("```\n")
		}
		total := 0
		for total < 1<<20 {
			piece := strings.Repeat(unit, 40)
			f.add(piece)
			total += len(piece)
			if len(f.open) > 2*maxOpen {
				t.Fatalf("%s: %d bytes are open", name, len(f.open))
			}
		}
		settled, tail := f.lines(p, 80)
		if got := strings.Count(strings.Join(append(settled, tail...), "\n"), strings.TrimSpace(unit)); got != total/len(unit) {
			t.Errorf("%s: %d of %d are shown", name, got, total/len(unit))
		}
	}
}

func TestMarkdown(t *testing.T) {
	p := paletteOf(false)
	for _, c := range []struct{ name, in, want string }{
		{"emphasis", "a **b** *c* ~~d~~ `e`", "a **b** *c* ~~d~~ `e`"},
		{"heading", "## two", "## two"},
		{"nested", "1. a\n   - b\n2. c", "1. a\n   - b\n2. c"},
		{"tasks", "- [x] a\n- [ ] b", "- [x] a\n- [ ] b"},
		{"link", "[l](http://x/y) <http://z>", "l (http://x/y) http://z"},
		{"image", "![alt](p.png)", "[alt] (p.png)"},
		{"lines", "one\ntwo", "one\ntwo"},
		{"quote", "> a\n> b", "| a\n| b"},
		{"code", "```sh\nls\n```", "| ls"},
		{"references", "&amp; &copy; \\*x\\*", "& © *x*"},
		{"tab", "a\tb", "a    b"},
		{"wrap", strings.Repeat("word ", 8), "word word word word word word word word"},
	} {
		if got := strings.TrimRight(strings.Join(p.markdown(c.in, 60), "\n"), " "); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}
