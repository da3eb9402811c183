package settings

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/selvagehq/selvage/internal/yamlx"
)

// reader takes the keys of one file.
type reader struct {
	settings *Settings
	keys     []Key
	file     File
}

func (r *reader) read(doc *yamlx.Node) error {
	switch doc.Kind {
	case yamlx.Null:
		return nil
	case yamlx.Map:
		return r.entries(nil, doc)
	default:
		return r.fault(doc.Line, "", "a configuration is a mapping of keys, this is %s", doc.Kind)
	}
}

func (r *reader) fault(line int, hint, format string, args ...any) error {
	return &Error{Where: place(r.file.Path, line), Reason: fmt.Sprintf(format, args...), Hint: hint}
}

func (r *reader) entries(above []string, m *yamlx.Node) error {
	for _, e := range m.Entries {
		path := append(slices.Clone(above), e.Key)
		name := strings.Join(path, ".")
		key, group := r.find(path)
		switch {
		case key == nil && !group:
			return r.unknown(above, e)
		case e.Value.Kind == yamlx.Null:
			// Nothing after the colon: as if the key were not there.
		case key != nil:
			if err := r.leaf(key, name, e); err != nil {
				return err
			}
		case e.Value.Kind != yamlx.Map:
			return r.fault(e.Line, "", "%s holds keys of its own, not %s", name, e.Value.Kind)
		default:
			if err := r.entries(path, e.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// find returns the key at path, or whether there are keys below it.
func (r *reader) find(path []string) (key *Key, group bool) {
	for i := range r.keys {
		segments := strings.Split(r.keys[i].Name, ".")
		if len(segments) < len(path) || !fits(segments[:len(path)], path) {
			continue
		}
		if len(segments) == len(path) {
			return &r.keys[i], false
		}
		group = true
	}
	return nil, group
}

func fits(segments, path []string) bool {
	for i := range path {
		if segments[i] != "*" && segments[i] != path[i] || path[i] == "" {
			return false
		}
	}
	return true
}

func (r *reader) leaf(k *Key, name string, e yamlx.Entry) error {
	v := Value{Source: r.file.Source, Where: place(r.file.Path, e.Line)}
	switch {
	case e.Value.Kind == yamlx.Scalar:
		v.Text = e.Value.Text
		v.Words = []string{v.Text}
		if k.Type == Command {
			v.Words = strings.Fields(v.Text)
		}
	case e.Value.Kind == yamlx.List && k.listed():
		for _, item := range e.Value.Items {
			if item.Kind != yamlx.Scalar {
				return r.fault(item.Line, "", "%s is a list of texts, this is %s", name, item.Kind)
			}
			v.Words = append(v.Words, item.Text)
		}
		v.Text = strings.Join(v.Words, ", ")
	default:
		return r.fault(e.Line, "", "%s is a single value, not %s", name, e.Value.Kind)
	}
	if err := k.check(v.Text); err != nil {
		return r.fault(e.Value.Line, "", "%s: %v", name, err)
	}
	if err := k.checkEach(v.Words); err != nil {
		return r.fault(e.Value.Line, "", "%s: %v", name, err)
	}
	if !r.file.Trusted && k.grants != nil && k.grants(v.Text) {
		r.settings.Ignored = append(r.settings.Ignored, Ignored{Key: name, File: r.file.Path, Line: e.Line})
		return nil
	}
	v.Text = r.located(k, v.Text)
	r.settings.put(k, name, v)
	return nil
}

// located makes what names a file relative to the folder of the configuration
// that names it.
func (r *reader) located(k *Key, text string) string {
	dir := filepath.Dir(r.file.Path)
	switch {
	case k.Type == Path:
		return absolute(text, dir)
	case (k.Name == "system" || k.Name == "agents.*.system") && fromFile(text):
		return "@" + absolute(text[1:], dir)
	case k.Type != Store:
		return text
	}
	for _, scheme := range []string{"sqlite:", "file:"} {
		if path, ok := strings.CutPrefix(text, scheme); ok {
			return scheme + absolute(path, dir)
		}
	}
	if strings.Contains(text, ":") || strings.HasPrefix(text, "@") {
		return text
	}
	located := absolute(text, dir)
	if strings.HasSuffix(text, "/") {
		located += "/"
	}
	return located
}

// unknown says which key was probably meant.
func (r *reader) unknown(above []string, e yamlx.Entry) error {
	var valid []string
	for i := range r.keys {
		segments := strings.Split(r.keys[i].Name, ".")
		if len(segments) > len(above) && fits(segments[:len(above)], above) && !slices.Contains(valid, segments[len(above)]) {
			valid = append(valid, segments[len(above)])
		}
	}
	dotted := func(last string) string { return strings.Join(append(slices.Clone(above), last), ".") }
	if nearest := Nearest(e.Key, valid); nearest != "" && nearest != "*" {
		return r.fault(e.Line, "did you mean "+dotted(nearest)+"?", "%q is not a key", dotted(e.Key))
	}
	listed := strings.ReplaceAll(strings.Join(valid, ", "), "*", "a name of yours")
	return r.fault(e.Line, "valid here: "+listed, "%q is not a key", dotted(e.Key))
}
