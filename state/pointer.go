package state

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Pointer is an RFC 6901 JSON pointer in its text form, such as "/a/b~1c/0". The
// empty pointer is the whole document. A token that meets an array is an index:
// decimal, without sign or leading zeros; "-" means nothing here.
//
// A constant can be used as it is. Text from elsewhere goes through
// [ParsePointer], single keys through [At], which escapes them.
type Pointer string

// ParsePointer checks the form of a pointer. The error matches [ErrPointer].
func ParsePointer(s string) (Pointer, error) {
	p := Pointer(s)
	switch {
	case p.valid():
		return p, nil
	case !utf8.ValidString(s):
		return "", failf(ErrPointer, "%q is not valid UTF-8", s)
	case s[0] != '/':
		return "", failf(ErrPointer, "%q does not begin with a slash", s)
	}
	return "", failf(ErrPointer, "%q has a ~ that is not ~0 or ~1", s)
}

// At returns the pointer made of the tokens, which it escapes. Each byte that is
// not part of valid UTF-8 becomes U+FFFD.
func At(tokens ...string) Pointer { return Pointer("").Join(tokens...) }

// Join returns the pointer with more tokens, treated as in [At].
func (p Pointer) Join(tokens ...string) Pointer {
	var b strings.Builder
	b.WriteString(string(p))
	for _, t := range tokens {
		b.WriteByte('/')
		if t = validText(t); strings.ContainsAny(t, "~/") {
			t = escapeToken.Replace(t)
		}
		b.WriteString(t)
	}
	return Pointer(b.String())
}

var (
	escapeToken   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapeToken = strings.NewReplacer("~0", "~", "~1", "/")
)

// Tokens returns the unescaped tokens. The empty pointer has none.
func (p Pointer) Tokens() []string {
	if p == "" {
		return nil
	}
	tokens := make([]string, 0, p.len())
	for rest := string(p); rest != ""; {
		var t string
		t, rest = cutToken(rest)
		tokens = append(tokens, t)
	}
	return tokens
}

// Contains reports whether q is p or lies below it.
func (p Pointer) Contains(q Pointer) bool {
	return strings.HasPrefix(string(q), string(p)) && (len(q) == len(p) || q[len(p)] == '/')
}

// UnmarshalText accepts what [ParsePointer] does.
func (p *Pointer) UnmarshalText(text []byte) error {
	parsed, err := ParsePointer(string(text))
	if err != nil {
		return fmt.Errorf("decode pointer: %w", err)
	}
	*p = parsed
	return nil
}

func (p Pointer) valid() bool {
	if p == "" {
		return true
	}
	if p[0] != '/' || !utf8.ValidString(string(p)) {
		return false
	}
	for rest := string(p); ; {
		i := strings.IndexByte(rest, '~')
		if i < 0 {
			return true
		}
		rest = rest[i+1:]
		if rest == "" || rest[0] != '0' && rest[0] != '1' {
			return false
		}
	}
}

// len is the number of tokens.
func (p Pointer) len() int { return strings.Count(string(p), "/") }

// split returns the pointer to the parent and the unescaped last token of a
// pointer that is not empty.
func (p Pointer) split() (Pointer, string) {
	i := strings.LastIndexByte(string(p), '/')
	token, _ := cutToken(string(p[i:]))
	return p[:i], token
}

// cutToken takes the first token, unescaped, from the text of a pointer that is
// not empty.
func cutToken(p string) (token, rest string) {
	token = p[1:]
	if i := strings.IndexByte(token, '/'); i >= 0 {
		token, rest = token[:i], token[i:]
	}
	if strings.IndexByte(token, '~') >= 0 {
		token = unescapeToken.Replace(token)
	}
	return token, rest
}

// arrayIndex returns the index a token is, if it is one.
func arrayIndex(token string) (int, bool) {
	if token == "" || len(token) > 18 || token[0] == '0' && token != "0" {
		return 0, false
	}
	for i := range len(token) {
		if token[i] < '0' || token[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.Atoi(token)
	return n, err == nil
}
