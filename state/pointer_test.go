package state_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/selvagehq/selvage/state"
)

func TestParsePointer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want []string
		ok   bool
	}{
		{"", nil, true},
		{"/", []string{""}, true},
		{"//", []string{"", ""}, true},
		{"/a/b", []string{"a", "b"}, true},
		{"/a~1b/m~0n", []string{"a/b", "m~n"}, true},
		{"/~01", []string{"~1"}, true},
		{"/é/\u0000 ", []string{"é", "\u0000 "}, true},
		{"a", nil, false},
		{"#/a", nil, false},
		{"/~", nil, false},
		{"/~2", nil, false},
		{"/a~/b", nil, false},
		{"/\xff", nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			p, err := state.ParsePointer(tt.in)
			if !tt.ok {
				if !errors.Is(err, state.ErrPointer) {
					t.Fatalf("ParsePointer = %q, %v; want ErrPointer", p, err)
				}
				return
			}
			if err != nil || !slices.Equal(p.Tokens(), tt.want) {
				t.Fatalf("ParsePointer = %q, %v; want %q", p.Tokens(), err, tt.want)
			}
			if back := state.At(tt.want...); back != p {
				t.Errorf("At = %q; want %q", back, p)
			}
		})
	}
}

func TestPointerRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tokens := rapid.SliceOf(rapid.OneOf(genToken(), rapid.String())).Draw(t, "tokens")
		for i := range tokens {
			tokens[i] = strings.ToValidUTF8(tokens[i], "\uFFFD")
		}
		p := state.At(tokens...)
		parsed, err := state.ParsePointer(string(p))
		if err != nil || !slices.Equal(parsed.Tokens(), tokens) {
			t.Fatalf("%q became %q, %q, %v", tokens, p, parsed.Tokens(), err)
		}
		if cut := rapid.IntRange(0, len(tokens)).Draw(t, "cut"); state.At(tokens[:cut]...).Join(tokens[cut:]...) != p {
			t.Fatalf("Join of %q at %d differs from At", tokens, cut)
		}
	})
}

func TestContains(t *testing.T) {
	t.Parallel()
	tests := []struct {
		p, q state.Pointer
		want bool
	}{
		{"", "", true},
		{"", "/", true},
		{"", "/a/b", true},
		{"/a", "/a", true},
		{"/a", "/a/b", true},
		{"/a", "/a/", true},
		{"/a", "/ab", false},
		{"/a", "/a~1b", false}, // one token, a/b
		{"/a/b", "/a", false},
		{"/", "/a", false},
		{"/", "//a", true},
	}
	for _, tt := range tests {
		if got := tt.p.Contains(tt.q); got != tt.want {
			t.Errorf("%q contains %q = %v", tt.p, tt.q, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		p, q := genPointer(3).Draw(t, "p"), genPointer(3).Draw(t, "q")
		a, b := p.Tokens(), q.Tokens()
		want := len(a) <= len(b) && slices.Equal(a, b[:min(len(a), len(b))])
		if p.Contains(q) != want {
			t.Fatalf("%q contains %q = %v", p, q, !want)
		}
	})
}

func TestGet(t *testing.T) {
	t.Parallel()
	doc := parse(t, `{"a":{"b/c":[10,{"":null}]},"0":"zero","m~n":1}`)
	tests := []struct {
		path state.Pointer
		want string // "": nothing there
	}{
		{"", doc.String()},
		{"/a/b~1c/0", `10`},
		{"/a/b~1c/1/", `null`},
		{"/0", `"zero"`},
		{"/m~0n", `1`},
		{"/a/b~1c/2", ``},
		{"/a/b~1c/-", ``},
		{"/a/b~1c/00", ``},
		{"/a/b~1c/+0", ``},
		{"/a/b~1c/99999999999999999999", ``},
		{"/a/b~1c/", ``},
		{"/0/x", ``},
		{"/a/b~1c/1//x", ``}, // through null
		{"/x", ``},
		{"a", ``},
		{"/m~n", ``},
	}
	for _, tt := range tests {
		v, ok := doc.Get(tt.path)
		if ok != (tt.want != "") || ok && v.String() != tt.want {
			t.Errorf("Get(%q) = %v, %v; want %s", tt.path, v, ok, tt.want)
		}
	}
}
