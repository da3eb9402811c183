package selvage

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// ThreadID names a thread within its tenant.
type ThreadID string

// RunID names a run within its tenant.
type RunID string

// MaxIDBytes bounds the length of a thread, run, message, call or change-set
// id, in bytes.
const MaxIDBytes = 200

// NewID returns a fresh UUIDv7 (RFC 9562): 48 bits of Unix milliseconds, then
// 74 random bits. Ids only name things; order comes from versions.
func NewID() string {
	var b [16]byte
	// crypto/rand.Read never fails: it crashes the program instead.
	_, _ = rand.Read(b[6:])
	return formatUUIDv7(b, time.Now())
}

// formatUUIDv7 stamps time, version and variant on the random bits of b.
func formatUUIDv7(b [16]byte, at time.Time) string {
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(at.UnixMilli()))
	copy(b[:6], ms[2:])
	b[6] = b[6]&0x0f | 0x70
	b[8] = b[8]&0x3f | 0x80
	var text [36]byte
	hex.Encode(text[0:8], b[0:4])
	text[8] = '-'
	hex.Encode(text[9:13], b[4:6])
	text[13] = '-'
	hex.Encode(text[14:18], b[6:8])
	text[18] = '-'
	hex.Encode(text[19:23], b[8:10])
	text[23] = '-'
	hex.Encode(text[24:36], b[10:16])
	return string(text[:])
}

// CheckID reports whether id may name a thing of the given kind ("thread",
// "run", ...): 1 to [MaxIDBytes] bytes of UTF-8 without control characters,
// '/' or '\', not "." or "..", and not starting with '-'. The error matches
// [ErrInvalid] and names kind as its field. Stores also require NFC.
func CheckID(kind, id string) error {
	bad := func(format string, args ...any) error {
		return &InvalidError{Field: kind, Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case id == "":
		return bad("an id may not be empty")
	case len(id) > MaxIDBytes:
		return bad("an id has at most %d bytes, this one has %d", MaxIDBytes, len(id))
	case id == "." || id == "..":
		return bad("%q is not an id", id)
	case id[0] == '-':
		return bad("%q starts with '-', which would read as a flag", id)
	case !utf8.ValidString(id):
		return bad("%q is not valid UTF-8", id)
	}
	if i := strings.IndexFunc(id, func(r rune) bool { return r == '/' || r == '\\' || unicode.IsControl(r) }); i >= 0 {
		r, _ := utf8.DecodeRuneInString(id[i:])
		return bad("%q holds %q; slashes and control characters are not allowed", id, r)
	}
	return nil
}
