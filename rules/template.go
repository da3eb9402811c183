package rules

import (
	"strings"

	"github.com/selvagehq/selvage/state"
)

// maxExpanded bounds what one parameter becomes; more is cut.
const maxExpanded = 4 << 10

// template is a text with facts in it: texts and paths by turns, texts first.
type template struct {
	texts []string
	paths []state.Pointer
}

// newTemplate reads a text with ${dotted.path} in it.
func newTemplate(place, text string) (template, error) {
	var t template
	for {
		before, rest, found := strings.Cut(text, "${")
		t.texts = append(t.texts, before)
		if !found {
			return t, nil
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return t, faulty(place, "${%.40s is not closed by a brace", rest)
		}
		path, err := parsePath(place, strings.TrimSpace(name))
		if err != nil {
			return t, err
		}
		t.paths, text = append(t.paths, path), after
	}
}

func (t *template) varies() bool { return len(t.paths) > 0 }

// expand puts the facts in: texts as they are, null and what is not there as
// nothing, anything else as JSON.
func (t *template) expand(facts state.Document) string {
	var b strings.Builder
	for i, text := range t.texts {
		b.WriteString(text)
		if i == len(t.paths) {
			break
		}
		switch v := lookUp(facts, t.paths[i]); v.Kind() {
		case state.KindNull:
		case state.KindString:
			b.WriteString(v.Text())
		default:
			b.Write(v.AppendJSON(nil))
		}
	}
	return strings.ToValidUTF8(b.String()[:min(b.Len(), maxExpanded)], "")
}
