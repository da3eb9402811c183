package commit

import (
	"strings"
	"unicode/utf8"

	"github.com/selvagehq/selvage"
)

// checkText refuses what is not UTF-8. JSON cannot hold it: an encoder would
// store other characters than were given, and two sets that differ would pass
// for the same content.
func checkText(field string, texts ...string) error {
	for _, s := range texts {
		if !utf8.ValidString(s) {
			return invalid(field, "%q is not valid UTF-8", s)
		}
	}
	return nil
}

// checkRaw refuses JSON that is not UTF-8.
func checkRaw(field string, raw ...[]byte) error {
	for _, r := range raw {
		if !utf8.Valid(r) {
			return invalid(field, "this JSON is not valid UTF-8")
		}
	}
	return nil
}

// checkLine refuses what some engine's text columns cannot hold.
func checkLine(field, s string) error {
	if strings.ContainsRune(s, 0) {
		return invalid(field, "%q holds a NUL character", s)
	}
	return checkText(field, s)
}

func checkMetadata(field string, m map[string]rawJSON) error {
	if len(m) > selvage.MaxMetadataKeys {
		return invalid(field, "there may be at most %d metadata keys, and there are %d", selvage.MaxMetadataKeys, len(m))
	}
	for k, v := range m {
		if err := checkLine(field, k); err != nil {
			return err
		}
		if err := checkRaw(field+"."+k, v); err != nil {
			return err
		}
	}
	return nil
}

func checkSpec(field string, s *selvage.RunSpec) error {
	if s == nil {
		return nil
	}
	for _, t := range s.Tools {
		if err := checkText(field+".tools", t.Name, t.SchemaHash, string(t.Effect)); err != nil {
			return err
		}
	}
	return checkText(field, append([]string{s.Model, s.System, s.Policy}, s.Needs...)...)
}
