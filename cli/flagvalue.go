package cli

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/settings"
)

// flagValueError says in our words what is wrong with the value of a flag.
type flagValueError struct{ reason string }

func (e *flagValueError) Error() string { return e.reason }

// count is the value of a flag that counts: a whole number from 0 on. It is
// nil until it is given.
type count struct{ n *int }

func (c *count) String() string {
	if c.n == nil {
		return ""
	}
	return strconv.Itoa(*c.n)
}

func (c *count) Type() string { return "number" }

func (c *count) Set(text string) error {
	n, err := settings.ParseNumber(text)
	if err != nil {
		return &flagValueError{err.Error()}
	}
	c.n = &n
	return nil
}

// version is the value of a flag that names a version of a thread.
type version struct{ v selvage.Version }

func (v *version) String() string {
	if v.v == 0 {
		return ""
	}
	return v.v.String()
}

func (v *version) Type() string { return "version" }

func (v *version) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return &flagValueError{strconv.Quote(text) + " is not a version; versions are whole numbers from 1 on"}
	}
	v.v = selvage.Version(n)
	return nil
}

// single is the text of a flag that may be given once.
type single struct {
	text string
	set  bool
}

func (s *single) String() string { return s.text }

func (s *single) Type() string { return "text" }

func (s *single) Set(text string) error {
	if s.set {
		return &flagValueError{fmt.Sprintf("it is given twice, as %q and %q", s.text, text)}
	}
	s.text, s.set = text, true
	return nil
}

// checked is the text of a flag that a func checks when it is set.
type checked struct {
	text  string
	kind  string
	check func(string) error
}

func (c *checked) String() string { return c.text }

func (c *checked) Type() string { return c.kind }

func (c *checked) Set(text string) error {
	if err := c.check(text); err != nil {
		var invalid *selvage.InvalidError
		if errors.As(err, &invalid) {
			return &flagValueError{invalid.Reason}
		}
		return &flagValueError{err.Error()}
	}
	c.text = text
	return nil
}

func number() *checked {
	return &checked{kind: "number", check: func(s string) error { _, err := settings.ParseNumber(s); return err }}
}

// bound is a number, or none.
func bound() *checked {
	return &checked{kind: "number", check: func(s string) error { _, err := settings.ParseBound(s); return err }}
}

// allowance is an amount of dollars, or none.
func allowance() *checked {
	return &checked{kind: "dollars", check: func(s string) error { _, err := settings.ParseAllowance(s); return err }}
}

func duration() *checked {
	return &checked{kind: "duration", check: func(s string) error { _, err := settings.ParseDuration(s); return err }}
}

// durationOf returns what a checked text says; an empty one is zero.
func durationOf(text string) time.Duration {
	d, err := settings.ParseDuration(text)
	if err != nil {
		return 0
	}
	return d
}
