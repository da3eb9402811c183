package tui

import (
	"strconv"
	"strings"
	"sync"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// reader is how markdown is read. It keeps no state between two texts.
var reader = sync.OnceValue(newReader)

func newReader() parser.Parser {
	p := parser.NewParser(parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(parser.DefaultInlineParsers()...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...))
	p.AddOptions(
		parser.WithParagraphTransformers(util.Prioritized(extension.NewTableParagraphTransformer(), 200)),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
		parser.WithInlineParsers(
			util.Prioritized(extension.NewStrikethroughParser(), 500),
			util.Prioritized(extension.NewTaskCheckBoxParser(), 0)))
	return p
}

// page renders markdown for a width.
type page struct {
	*palette
	source []byte
}

// markdown renders text as lines of at most width columns. It never fails:
// what is not markdown is text.
func (p *palette) markdown(source string, width int) []string {
	source = safe(source)
	g := &page{palette: p, source: []byte(source)}
	return g.blocks(reader().Parse(text.NewReader(g.source)), max(1, width), true)
}

// blocks renders the children of n, apart by an empty line if they are loose.
func (g *page) blocks(n ast.Node, width int, loose bool) []string {
	var lines []string
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if loose && len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, g.block(c, width)...)
	}
	return lines
}

func (g *page) block(n ast.Node, width int) []string {
	switch n := n.(type) {
	case *ast.Heading:
		line := g.inline(n)
		if g.on {
			return wrap(g.paint(title, ansi.Strip(line)), width)
		}
		return wrap(strings.Repeat("#", n.Level)+" "+line, width)
	case *ast.Paragraph, *ast.TextBlock:
		return wrap(g.inline(n), width)
	case *ast.List:
		return g.list(n, width)
	case *ast.Blockquote:
		bar := g.paint(faint, g.signs.bar) + " "
		return indent(g.blocks(n, width-2, true), bar, bar)
	case *ast.FencedCodeBlock:
		return g.code(string(n.Lines().Value(g.source)), width)
	case *ast.CodeBlock:
		return g.code(string(n.Lines().Value(g.source)), width)
	case *ast.ThematicBreak:
		return []string{g.paint(faint, strings.Repeat(g.signs.rule, min(width, 24)))}
	case *extast.Table:
		return g.table(n, width)
	case *ast.HTMLBlock:
		raw := string(n.Lines().Value(g.source))
		if n.HasClosure() {
			raw += string(n.ClosureLine.Value(g.source))
		}
		return wrap(strings.TrimRight(raw, "\n"), width)
	default:
		return g.blocks(n, width, true)
	}
}

func (g *page) list(n *ast.List, width int) []string {
	var lines []string
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		mark := g.signs.bullet + " "
		if n.IsOrdered() {
			mark = strconv.Itoa(number) + ". "
			number++
		}
		if len(lines) > 0 && !n.IsTight {
			lines = append(lines, "")
		}
		body := g.blocks(item, width-ansi.StringWidth(mark), !n.IsTight)
		if len(body) == 0 {
			body = []string{""}
		}
		lines = append(lines, indent(body, g.paint(faint, mark), spaces(mark))...)
	}
	return lines
}

// code renders lines of a program, broken where they do not fit.
func (p *palette) code(source string, width int) []string {
	source = strings.TrimRight(source, "\n")
	bar := p.paint(faint, p.signs.bar) + " "
	var lines []string
	for line := range strings.SplitSeq(source, "\n") {
		for part := range strings.SplitSeq(ansi.Hardwrap(line, max(1, width-2), true), "\n") {
			lines = append(lines, bar+p.paint(cyan, part))
		}
	}
	return lines
}

func (g *page) table(n *extast.Table, width int) []string {
	border := lipgloss.NormalBorder()
	if !g.on {
		border = lipgloss.ASCIIBorder()
	}
	t := table.New().Border(border).BorderRow(false).Wrap(true)
	if g.on {
		t = t.BorderStyle(faint)
	}
	columns := 0
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, " "+g.inline(cell)+" ")
		}
		if _, head := row.(*extast.TableHeader); head {
			columns = len(cells)
			t.Headers(cells...)
			continue
		}
		t.Row(cells...)
	}
	drawn := t.Render()
	if lipgloss.Width(drawn) > width {
		if width < 5*columns+1 { // no room for columns
			return wrap(strings.TrimRight(string(n.Lines().Value(g.source)), "\n"), width)
		}
		drawn = t.Width(width).Render()
	}
	return strings.Split(drawn, "\n")
}

// inline renders what is within a line.
func (g *page) inline(n ast.Node) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		b.WriteString(g.span(c))
	}
	return b.String()
}

func (g *page) span(n ast.Node) string {
	switch n := n.(type) {
	case *ast.Text:
		out := g.literal(n.Value(g.source))
		if n.SoftLineBreak() || n.HardLineBreak() {
			out += "\n" // as it was written: people and models break lines where they mean it
		}
		return out
	case *ast.String:
		return g.literal(n.Value)
	case *ast.CodeSpan:
		return g.marked("`", cyan, g.raw(n))
	case *ast.Emphasis:
		if n.Level >= 2 {
			return g.marked("**", bold, g.inline(n))
		}
		return g.marked("*", italic, g.inline(n))
	case *extast.Strikethrough:
		return g.marked("~~", struck, g.inline(n))
	case *extast.TaskCheckBox:
		if n.IsChecked {
			return "[x] "
		}
		return "[ ] "
	case *ast.Link:
		return g.link(g.inline(n), string(n.Destination))
	case *ast.Image:
		return g.link("["+g.inline(n)+"]", string(n.Destination))
	case *ast.AutoLink:
		return g.marked("", cyan, safe(string(n.Label(g.source))))
	case *ast.RawHTML:
		return string(n.Segments.Value(g.source))
	default:
		return g.inline(n)
	}
}

// marked puts text into a style, or between the marks it was written with.
func (g *page) marked(mark string, style lipgloss.Style, text string) string {
	if !g.on {
		return mark + text + mark
	}
	return g.paint(style, text)
}

// link shows where a link leads: what is not seen cannot be judged.
func (g *page) link(label, to string) string {
	to = oneLine(to)
	if to == "" || ansi.Strip(label) == to {
		return g.marked("", cyan, ansi.Strip(label))
	}
	return g.marked("", cyan, ansi.Strip(label)) + g.paint(faint, " ("+to+")")
}

// raw is the text of a code span as it was written.
func (g *page) raw(n ast.Node) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			b.Write(c.Value(g.source))
		case *ast.String:
			b.Write(c.Value)
		}
	}
	return strings.ReplaceAll(b.String(), "\n", " ")
}

// literal resolves escapes and references, which may stand for control
// characters again.
func (g *page) literal(source []byte) string {
	source = util.UnescapePunctuations(source)
	source = util.ResolveNumericReferences(source)
	return safe(string(util.ResolveEntityNames(source)))
}
