package builtin

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/text/encoding/charmap"
)

// textOf returns what can be read of a page, and whether it is text at all.
func textOf(kind, charset string, body []byte) (string, bool) {
	switch charset = strings.ToLower(charset); {
	case charset == "iso-8859-1", charset == "latin1", charset == "windows-1252":
		if decoded, err := charmap.Windows1252.NewDecoder().Bytes(body); err == nil {
			body = decoded
		}
	}
	switch {
	case kind == "text/html", kind == "application/xhtml+xml":
		return textOfHTML(body), true
	case strings.HasPrefix(kind, "text/"), kind == "application/json", kind == "application/xml", kind == "application/javascript",
		kind == "application/yaml", kind == "application/x-ndjson", strings.HasSuffix(kind, "+json"), strings.HasSuffix(kind, "+xml"):
		if binary(body) {
			return "", false
		}
		return strings.ToValidUTF8(string(body), "\uFFFD"), true
	}
	return "", false
}

// textOfHTML returns the words of a page, a line a block, and where its links
// lead.
func textOfHTML(page []byte) string {
	var b strings.Builder
	z := html.NewTokenizer(bytes.NewReader(page))
	z.SetMaxBuf(1 << 20)
	skipped := 0 // depth within what is not shown
	link := ""
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return tidy(b.String())
		}
		t := z.Token()
		switch {
		case kind == html.TextToken && skipped == 0:
			b.WriteString(t.Data)
		case kind == html.StartTagToken && hidden(t.DataAtom):
			skipped++
		case kind == html.EndTagToken && hidden(t.DataAtom):
			skipped = max(0, skipped-1)
		case kind == html.StartTagToken && t.DataAtom == atom.A:
			link = attribute(t, "href")
		case kind == html.EndTagToken && t.DataAtom == atom.A && skipped == 0:
			if strings.HasPrefix(link, "http") || strings.HasPrefix(link, "/") {
				b.WriteString(" (" + link + ")")
			}
			link = ""
		case breaks(t.DataAtom):
			b.WriteByte('\n')
		}
	}
}

func hidden(a atom.Atom) bool {
	switch a {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg:
		return true
	}
	return false
}

// breaks reports whether an element stands on lines of its own.
func breaks(a atom.Atom) bool {
	switch a {
	case atom.P, atom.Div, atom.Br, atom.Li, atom.Ul, atom.Ol, atom.Tr, atom.Table, atom.Title, atom.Section, atom.Article, atom.Header, atom.Footer,
		atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Pre, atom.Blockquote, atom.Hr, atom.Dt, atom.Dd, atom.Option, atom.Main, atom.Nav:
		return true
	case atom.Td, atom.Th:
		return false
	}
	return false
}

func attribute(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return strings.TrimSpace(a.Val)
		}
	}
	return ""
}

// tidy leaves one space between words and at most one empty line between lines.
func tidy(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	var b strings.Builder
	empty := 0
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			empty++
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n")
			if empty > 1 {
				b.WriteString("\n")
			}
		}
		empty = 0
		b.WriteString(strings.Join(words, " "))
	}
	return b.String()
}
