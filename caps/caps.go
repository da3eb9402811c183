package caps

import (
	"fmt"
	"slices"
	"strings"

	"github.com/selvagehq/selvage"
)

// MaxName is how many bytes a name or a glob has at most.
const MaxName = 256

// Tool is the capability to call the tool of a name.
func Tool(name string) string { return "tool." + name }

// Set is the globs that are granted. The nil set grants nothing.
type Set []string

// Parse returns the set of some globs, each of them once, or an error matching
// [selvage.ErrInvalid] that names the one that is not a glob.
func Parse(globs []string) (Set, error) {
	set := make(Set, 0, len(globs))
	for _, glob := range globs {
		if err := Check(glob); err != nil {
			return nil, err
		}
		if !slices.Contains(set, glob) {
			set = append(set, glob)
		}
	}
	return set, nil
}

// Check reports whether a text is a glob: names of letters, digits, '_', '-'
// and ':' joined by dots, in which '*' stands for any characters, dots
// included, or none. The error matches [selvage.ErrInvalid].
func Check(glob string) error {
	bad := func(reason string) error {
		return &selvage.InvalidError{Field: "caps", Reason: fmt.Sprintf("%.80q is not a capability: %s", glob, reason)}
	}
	switch {
	case glob == "":
		return bad("it is empty; for example tool.clock, or tool.* for all tools")
	case len(glob) > MaxName:
		return bad(fmt.Sprintf("it has %d bytes, more than %d", len(glob), MaxName))
	case strings.HasPrefix(glob, "."), strings.HasSuffix(glob, "."), strings.Contains(glob, ".."):
		return bad("between two dots there is a name, and none begins or ends with a dot")
	}
	if i := strings.IndexFunc(glob, foreign); i >= 0 {
		return bad(fmt.Sprintf("%q may not be in it; letters, digits, '_', '-', ':', '.' and '*' may", []rune(glob[i:])[0]))
	}
	return nil
}

func foreign(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-:.*", r)
}

// named reports whether a text is the name of one capability.
func named(name string) bool { return Check(name) == nil && !strings.Contains(name, "*") }

// Allows reports whether the set grants a capability. What is not the name of
// one is not granted.
func (s Set) Allows(name string) bool { return named(name) && s.covers(name) }

// Lacks returns those of the names that the set does not grant, in order.
func (s Set) Lacks(names ...string) []string {
	var lacks []string
	for _, name := range names {
		if !s.Allows(name) {
			lacks = append(lacks, name)
		}
	}
	return lacks
}

// covers reports whether one glob of the set matches all that another does.
func (s Set) covers(glob string) bool {
	return slices.ContainsFunc(s, func(granted string) bool { return matches(granted, glob) })
}

// Subset returns nil if everything that child grants is granted by parent too.
// It is decided glob by glob: one of the parent's must match all that one of
// the child's does, so several that do so only together are not enough. The
// error is a [WiderError].
func Subset(child, parent Set) error {
	var wider []string
	for _, glob := range child {
		if !parent.covers(glob) && !slices.Contains(wider, glob) {
			wider = append(wider, glob)
		}
	}
	if len(wider) == 0 {
		return nil
	}
	return &WiderError{Missing: wider, Granted: slices.Clone(parent)}
}

// Narrow returns what two sets both grant, decided glob by glob as [Subset] is:
// it may be less than what they grant together, and is never more.
func Narrow(a, b Set) Set {
	both := make(Set, 0, len(a))
	keep := func(from, in Set) {
		for _, glob := range from {
			if in.covers(glob) && !slices.Contains(both, glob) {
				both = append(both, glob)
			}
		}
	}
	keep(a, b)
	keep(b, a)
	return both
}

// WiderError reports a set that is no subset. It matches [selvage.ErrInvalid].
type WiderError struct {
	Missing []string // what the parent does not grant
	Granted []string // what it does
}

func (e *WiderError) Error() string {
	granted := "nothing"
	if len(e.Granted) > 0 {
		granted = strings.Join(e.Granted, ", ")
	}
	return fmt.Sprintf("%s is not granted; granted is %s", strings.Join(e.Missing, ", "), granted)
}

// Is reports whether target is [selvage.ErrInvalid].
func (e *WiderError) Is(target error) bool { return target == selvage.ErrInvalid }

// matches reports whether a glob matches a text. A '*' in the text stands for
// itself, so a glob that matches another matches all that this one does: only
// '*' takes a '*'.
func matches(glob, text string) bool {
	g, t := 0, 0
	star, resume := -1, 0 // the last '*' of the glob, and where it goes on to take
	for t < len(text) {
		switch {
		case g < len(glob) && glob[g] == '*':
			star, resume = g, t
			g++
		case g < len(glob) && glob[g] == text[t]:
			g++
			t++
		case star >= 0:
			resume++
			g, t = star+1, resume
		default:
			return false
		}
	}
	return strings.Trim(glob[g:], "*") == ""
}
