package caps_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/caps"
)

func TestAllows(t *testing.T) {
	t.Parallel()
	tests := []struct {
		granted string
		name    string
		want    bool
	}{
		{"", "tool.clock", false},
		{"tool.clock", "tool.clock", true},
		{"tool.clock", "tool.clocks", false},
		{"tool.*", "tool.clock", true},
		{"tool.*", "tool.mcp.search", true}, // a star takes dots
		{"tool.*", "tools.clock", false},
		{"*", "tool.clock", true},
		{"*.read", "fs.home.read", true},
		{"fs.*.read", "fs.read", false},
		{"a*b*c", "a.b.b.c", true},
		{"a*b*c", "a.c.b", false},
		{"tool.clock fs.read", "fs.read", true},
		{"*", "", false},
		{"*", "tool.*", false}, // not the name of one
		{"tool.*", "tool.a b", false},
	}
	for _, tt := range tests {
		t.Run(tt.granted+" / "+tt.name, func(t *testing.T) {
			t.Parallel()
			set, err := caps.Parse(strings.Fields(tt.granted))
			if got := set.Allows(tt.name); got != tt.want || err != nil {
				t.Errorf("Allows = %v, %v; want %v", got, err, tt.want)
			}
		})
	}
	if (caps.Set)(nil).Allows("tool.clock") {
		t.Error("the nil set grants something")
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, glob := range []string{"*", "tool.*", "tool.append_file", "net:host-1", "a*b"} {
		if err := caps.Check(glob); err != nil {
			t.Errorf("Check(%q) = %v", glob, err)
		}
	}
	for _, glob := range []string{"", ".tool", "tool.", "a..b", "tool/clock", "tool.é", "a b", strings.Repeat("a", caps.MaxName+1)} {
		if err := caps.Check(glob); !errors.Is(err, selvage.ErrInvalid) {
			t.Errorf("Check(%q) = %v, want an invalid one", glob, err)
		}
	}
	if _, err := caps.Parse([]string{"tool.*", "a b"}); err == nil || !strings.Contains(err.Error(), `"a b"`) {
		t.Errorf("Parse = %v, want the glob named", err)
	}
}

func TestSubset(t *testing.T) {
	t.Parallel()
	tests := []struct {
		child, parent string
		missing       string // "" if it is one
	}{
		{"", "", ""},
		{"", "tool.*", ""},
		{"tool.clock", "", "tool.clock"},
		{"tool.clock", "tool.*", ""},
		{"tool.*", "tool.clock", "tool.*"},
		{"tool.*", "tool.*", ""},
		{"*", "tool.*", "*"},
		{"tool.a*", "tool.*", ""},
		{"tool.*b", "tool.*", ""},
		{"t*.x", "tool.*", "t*.x"},
		{"a.*.b", "a.*b", ""},
		{"a.*b", "a.*.b", "a.*b"},
		{"a**b", "a*b", ""},
		{"a*b", "a**b", ""},
		{"fs.read net.get fs.write", "fs.*", "net.get"},
	}
	for _, tt := range tests {
		t.Run(tt.child+" / "+tt.parent, func(t *testing.T) {
			t.Parallel()
			err := caps.Subset(strings.Fields(tt.child), strings.Fields(tt.parent))
			var wider *caps.WiderError
			switch {
			case tt.missing == "" && err != nil:
				t.Errorf("Subset = %v", err)
			case tt.missing != "" && (!errors.As(err, &wider) || strings.Join(wider.Missing, " ") != tt.missing || !errors.Is(err, selvage.ErrInvalid)):
				t.Errorf("Subset = %v, want %s to be missing", err, tt.missing)
			}
		})
	}
}

// What a subset allows its parent allows: no name tells them apart.
func TestSubsetIsSound(t *testing.T) {
	t.Parallel()
	glob := rapid.StringMatching(`[ab*]{1,5}`)
	rapid.Check(t, func(t *rapid.T) {
		child, parent := caps.Set(rapid.SliceOfN(glob, 0, 3).Draw(t, "child")), caps.Set(rapid.SliceOfN(glob, 0, 3).Draw(t, "parent"))
		name := rapid.StringMatching(`[ab]{1,6}`).Draw(t, "name")
		if caps.Subset(child, parent) == nil && child.Allows(name) && !parent.Allows(name) {
			t.Fatalf("%q is a subset of %q and allows %q, which the parent does not", child, parent, name)
		}
	})
}

// A glob that is no subset of a single other one has a name that shows it: the
// stars replaced by a letter that the parent does not name.
func TestSubsetOfOneIsComplete(t *testing.T) {
	t.Parallel()
	glob := rapid.StringMatching(`[ab*]{1,5}`)
	rapid.Check(t, func(t *rapid.T) {
		child, parent := glob.Draw(t, "child"), glob.Draw(t, "parent")
		witness := strings.ReplaceAll(child, "*", "c")
		if caps.Subset(caps.Set{child}, caps.Set{parent}) != nil && (caps.Set{parent}).Allows(witness) {
			t.Fatalf("%q is refused below %q, which allows even %q", child, parent, witness)
		}
	})
}

// What two sets were narrowed to is granted by both.
func TestNarrow(t *testing.T) {
	t.Parallel()
	tests := []struct{ a, b, want string }{
		{"tool.*", "tool.clock", "tool.clock"},
		{"tool.clock", "tool.*", "tool.clock"},
		{"tool.clock net.*", "tool.* net.get", "tool.clock net.get"},
		{"tool.a*", "tool.*b", ""}, // tool.ab is granted by both, and not kept
		{"*", "", ""},
		{"x", "x", "x"},
	}
	for _, tt := range tests {
		a, b := caps.Set(strings.Fields(tt.a)), caps.Set(strings.Fields(tt.b))
		got := caps.Narrow(a, b)
		if strings.Join(got, " ") != tt.want || caps.Subset(got, a) != nil || caps.Subset(got, b) != nil {
			t.Errorf("Narrow(%s, %s) = %s, want %s", a, b, got, tt.want)
		}
	}
}
