package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// excerpt is how much of a text is shown, in bytes, on either side of where two
// texts part.
const excerpt = 30

// difference names the first place where two requests part, and shows it; "" if
// they do not.
func difference(recorded, now *asked) string {
	return apart("", tree(recorded), tree(now))
}

// tree is a value as JSON has it.
func tree(v any) (t any) {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&t); err != nil {
		return err.Error()
	}
	return t
}

// apart compares two trees at a place.
func apart(at string, a, b any) string {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			return apartIn(at, a, b)
		}
	case []any:
		if b, ok := b.([]any); ok {
			return apartAlong(at, a, b)
		}
	case string:
		if b, ok := b.(string); ok {
			return apartText(at, a, b)
		}
	default:
		if a == b {
			return ""
		}
	}
	return fmt.Sprintf("%s: %s was recorded, %s is asked", at, shown(a), shown(b))
}

func apartIn(at string, a, b map[string]any) string {
	both := map[string]any{}
	maps.Copy(both, a)
	maps.Copy(both, b)
	dot := at
	if dot != "" {
		dot += "."
	}
	for _, key := range slices.Sorted(maps.Keys(both)) {
		if d := apart(dot+key, a[key], b[key]); d != "" {
			return d
		}
	}
	return ""
}

func apartAlong(at string, a, b []any) string {
	for i := range min(len(a), len(b)) {
		if d := apart(fmt.Sprintf("%s[%d]", at, i), a[i], b[i]); d != "" {
			return d
		}
	}
	switch {
	case len(a) > len(b):
		return fmt.Sprintf("%s[%d]: %s was recorded, nothing is asked", at, len(b), shown(a[len(b)]))
	case len(b) > len(a):
		return fmt.Sprintf("%s[%d]: nothing was recorded, %s is asked", at, len(a), shown(b[len(a)]))
	}
	return ""
}

func apartText(at, a, b string) string {
	if a == b {
		return ""
	}
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	cut := func(s string) string {
		from, to := max(same-excerpt, 0), min(same+excerpt, len(s))
		before, after := "", ""
		if from > 0 {
			before = "..."
		}
		if to < len(s) {
			after = "..."
		}
		return fmt.Sprintf("%q", before+s[from:to]+after)
	}
	return fmt.Sprintf("%s: %s was recorded, %s is asked", at, cut(a), cut(b))
}

// shown is a value in few words.
func shown(v any) string {
	if v == nil {
		return "nothing"
	}
	data, _ := json.Marshal(v) // it came from JSON
	if len(data) > 2*excerpt {
		return string(bytes.ToValidUTF8(data[:2*excerpt], nil)) + "..."
	}
	return string(data)
}
