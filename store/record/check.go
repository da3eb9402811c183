package record

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/selvagehq/selvage"
)

func invalid(field, format string, args ...any) error {
	return &selvage.InvalidError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// checkName returns nil if a name may stand in a key. The error matches
// [selvage.ErrInvalid].
func checkName(field, name string) error {
	if err := selvage.CheckID(field, name); err != nil {
		return err
	}
	if !norm.NFC.IsNormalString(name) {
		return invalid(field, "%q is not in Unicode normal form C; write it as %q", name, norm.NFC.String(name))
	}
	return nil
}

// checkLine returns nil if s may stand in a key and on one line: at most
// [selvage.MaxIDBytes] bytes of UTF-8 without control characters.
func checkLine(field, s string) error {
	switch {
	case len(s) > selvage.MaxIDBytes:
		return invalid(field, "it has %d bytes, and at most %d are kept", len(s), selvage.MaxIDBytes)
	case !utf8.ValidString(s):
		return invalid(field, "%q is not valid UTF-8", s)
	case strings.IndexFunc(s, unicode.IsControl) >= 0:
		return invalid(field, "%q holds control characters", s)
	}
	return nil
}

// checkText returns nil if all texts are UTF-8: JSON would keep others than
// were given.
func checkText(field string, texts ...string) error {
	for _, s := range texts {
		if !utf8.ValidString(s) {
			return invalid(field, "%q is not valid UTF-8", s)
		}
	}
	return nil
}

// checkValue returns nil if raw is JSON that can be kept.
func checkValue(field string, raw json.RawMessage, most int) error {
	switch {
	case len(raw) > most:
		return tooLarge(field, len(raw), most)
	case !utf8.Valid(raw):
		return invalid(field, "this JSON is not valid UTF-8")
	case !json.Valid(raw):
		return invalid(field, "this is not JSON")
	}
	return nil
}

// stored is a time as it is kept.
func stored(at time.Time) time.Time { return at.UTC().Truncate(selvage.TimePrecision) }

// checkExpiry returns an expiry as it is kept. The error matches
// [selvage.ErrInvalid].
func checkExpiry(at *time.Time, now time.Time) (*time.Time, error) {
	if at == nil {
		return nil, nil
	}
	kept := stored(*at)
	if !kept.After(now) {
		return nil, invalid("expires_at", "%v is over; leave it out for what never expires", kept)
	}
	return &kept, nil
}

// expires is the expiry of a row.
func expires(at *time.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	return *at
}
