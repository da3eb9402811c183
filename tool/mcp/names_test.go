package mcp

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var callable = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Every tool has a name that models may call, another than every other tool,
// and the same whatever the order; a name that can stay stays.
func TestNames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-c._]{0,3}`), rapid.StringMatching(`[a-b]{60,70}`))
		tools := rapid.SliceOfDistinct(name, rapid.ID).Draw(t, "tools")
		names := namesFor("srv", tools)
		seen := map[string]bool{}
		for _, tool := range tools {
			got := names[tool]
			if !callable.MatchString(got) || seen[got] || !strings.HasPrefix(got, "srv__") {
				t.Fatalf("%q is called %q; all: %q", tool, got, names)
			}
			seen[got] = true
			if whole := "srv__" + tool; callable.MatchString(whole) && tool != "" && got != whole {
				t.Fatalf("%q is called %q", tool, got)
			}
		}
		slices.Reverse(tools)
		for tool, again := range namesFor("srv", tools) {
			if names[tool] != again {
				t.Fatalf("%q is called %q, in another order %q", tool, names[tool], again)
			}
		}
	})
	got := namesFor("s", []string{"get.info", "get_info", "get info", strings.Repeat("x", 80)})
	if got["get_info"] != "s__get_info" || got["get.info"] == got["get info"] || len(got[strings.Repeat("x", 80)]) != 64 {
		t.Errorf("names %q", got)
	}
	for name, want := range map[string]string{"srv__a": "srv a", "srv__a__b": "srv a__b", "srv": "", "__a": "", "srv__": "", "note": ""} {
		server, rest, ok := Split(name)
		if got := server + " " + rest; ok != (want != "") || ok && got != want {
			t.Errorf("%s: %s, %v", name, got, ok)
		}
	}
}
