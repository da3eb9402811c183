package cli

import (
	"strings"
	"testing"
)

func TestTitleOf(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", maxTitle)
	for text, want := range map[string]string{
		"hello":                                "hello",
		"\n \r\n  first \x1b[31m line\nsecond": "first \uFFFD[31m line",
		long:                                   long,
		long + "é":                             strings.Repeat("é", maxTitle-3) + "...",
		" \n":                                  "",
	} {
		if got := titleOf(text); got != want {
			t.Errorf("titleOf(%q) = %q; want %q", text, got, want)
		}
	}
}

// TestIncognitoHasNoTitle: what is not kept is not named after what was said.
func TestIncognitoHasNoTitle(t *testing.T) {
	t.Parallel()
	c, _ := begun(t)
	if u := c.about("a secret"); u != nil {
		t.Errorf("the turn says %+v about its thread; want nothing", u)
	}
}
