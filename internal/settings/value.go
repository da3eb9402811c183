package settings

import (
	"net/url"
	"regexp"
	"strings"
)

// Source is the kind of place a value came from.
type Source string

// The sources, the one that counts least first.
const (
	FromDefault     Source = "default"
	FromUserFile    Source = "user_file"
	FromProjectFile Source = "project_file"
	FromEnvironment Source = "environment"
	FromFlag        Source = "flag"
)

// Value is what a key resolved to.
type Value struct {
	Key    string
	Text   string
	Words  []string // of a key of type [Words], [Phrases], [Lines] or [Command]
	Source Source
	Where  string // "/home/ann/.config/selvage/selvage.yaml:3", "SELVAGE_STORE", "--store"; "" for a default
	// Reserved and Secret are those of the key.
	Reserved bool
	Secret   bool

	typ  Type
	rank int
}

// Set reports whether somebody chose the value.
func (v Value) Set() bool { return v.Source != FromDefault }

// Hidden stands for a secret that is set.
const Hidden = "********"

// Shown returns the value as people may see it: secrets hidden, also those in
// URLs.
func (v Value) Shown() string {
	switch {
	case v.Secret && v.Text != "":
		return Hidden
	case v.typ == Command:
		return Redact(strings.Join(v.Words, " "))
	case v.typ == Phrases:
		return Redact(strings.Join(v.Words, ", "))
	case v.typ == Words, v.typ == Lines:
		return strings.Join(v.Words, ", ")
	default:
		return Redact(v.Text)
	}
}

// Redact hides the password and everything in the query of a URL that may be a
// credential, also where the text is almost a URL, or the key=value form that
// libpq takes. Any other text is returned as it is.
func Redact(text string) string {
	if !strings.Contains(text, "://") {
		text = pairs.ReplaceAllStringFunc(text, func(pair string) string {
			if name, _, _ := strings.Cut(pair, "="); credential(name) {
				return strings.TrimRight(name, " ") + "=" + Hidden
			}
			return pair
		})
		return beforeHost.ReplaceAllString(text, "${1}:"+Hidden+"@")
	}
	u, err := url.Parse(text)
	if err != nil {
		// It cannot be told apart, so nothing after the scheme is shown.
		scheme, _, _ := strings.Cut(text, "://")
		return scheme + "://" + Hidden
	}
	if _, has := u.User.Password(); has {
		u.User = url.UserPassword(u.User.Username(), Hidden)
	}
	query := u.Query()
	for name := range query {
		if credential(name) {
			query.Set(name, Hidden)
		}
	}
	if u.RawQuery != "" {
		u.RawQuery = query.Encode()
	}
	return strings.ReplaceAll(u.String(), url.QueryEscape(Hidden), Hidden)
}

// What else than a URL may hold a password: name=value, quoted as libpq has it,
// and user:password@host.
var (
	pairs      = regexp.MustCompile(`\w+\s*=\s*('(\\.|[^'\\])*'?|\S*)`)
	beforeHost = regexp.MustCompile(`([^\s/:@]*):[^\s/@][^\s@]*@`)
)

// credential reports whether a parameter of this name may hold a secret.
func credential(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"pass", "pwd", "secret", "token", "key", "auth", "credential"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
