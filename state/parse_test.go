package state_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/selvagehq/selvage/state"
)

func TestParseValue(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want string // "": must fail
	}{
		{`null`, `null`},
		{" \t\r\n true ", `true`},
		{`false`, `false`},
		{`0`, `0`},
		{`-0`, `-0`},
		{`1.0`, `1.0`},
		{`1e0`, `1e0`},
		{`1E+05`, `1E+05`},
		{`9007199254740993`, `9007199254740993`},
		{`12345678901234567890123`, `12345678901234567890123`},
		{`1e400`, `1e400`},
		{`1e999999999999999999999`, `1e999999999999999999999`},
		{`-0.1234567890123456789012345678901234567890`, `-0.1234567890123456789012345678901234567890`},
		{`""`, `""`},
		{`"<a href='x'>&"`, `"<a href='x'>&"`},
		{`"\u003c\/\b\f\n\r\t\"\\"`, `"</\u0008\u000c\n\r\t\"\\"`},
		{`"\u00e9\uD83D\uDE00\ud83d\ude00"`, `"é😀😀"`},
		{"\"\u2028\x7f\"", "\"\u2028\x7f\""}, // valid JSON, though not JavaScript
		{`"\u0000"`, `"\u0000"`},
		{`[]`, `[]`},
		{`[ ]`, `[]`},
		{`[1, [2], {}]`, `[1,[2],{}]`},
		{`{}`, `{}`},
		{`{"b":1,"a":{"d":[],"c":null}}`, `{"a":{"c":null,"d":[]},"b":1}`},
		{`{"":1,"\u0061":2}`, `{"":1,"a":2}`},
		{``, ``},
		{` `, ``},
		{`nul`, ``},
		{`nulll`, ``},
		{`True`, ``},
		{`1 2`, ``},
		{`{}}`, ``},
		{`[1,]`, ``},
		{`[,1]`, ``},
		{`[1`, ``},
		{`[1}`, ``},
		{`{"a":1,}`, ``},
		{`{"a"}`, ``},
		{`{"a":}`, ``},
		{`{a:1}`, ``},
		{`{"a":1`, ``},
		{`{"a":1,"a":1}`, ``},
		{`{"b":1,"a":2,"b":3}`, ``},
		{`{"a":1,"\u0061":1}`, ``}, // one key, written twice
		{`01`, ``},
		{`+1`, ``},
		{`.5`, ``},
		{`1.`, ``},
		{`1e`, ``},
		{`1e+`, ``},
		{`-`, ``},
		{`NaN`, ``},
		{`"`, ``},
		{`"\`, ``},
		{`"a`, ``},
		{`"\x"`, ``},
		{`"\u12"`, ``},
		{`"\u12G4"`, ``},
		{"\"\\u\x10\x11\x12\x13\"", ``},
		{"\"\n\"", ``},
		{"\"\\n\n\"", ``},
		{"\"\xff\"", ``},
		{"\"\\n\xff\"", ``},
		{"\"\xe2\\n\x82\xac\"", ``},
		{"\"\xed\xa0\x80\"", ``}, // a surrogate in UTF-8
		{`"\ud83d"`, ``},
		{`"\ude00"`, ``},
		{`"\ud83d\u0041"`, ``},
		{`"\ud83dx"`, ``},
		{`"\ud83d\u"`, ``},
		{"\ufeff1", ``}, // byte order mark
		{"1\x00", ``},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			v, err := state.ParseValue([]byte(tt.in))
			if tt.want == "" {
				var syntax *state.SyntaxError
				if !errors.As(err, &syntax) || !errors.Is(err, state.ErrSyntax) || errors.Is(err, state.ErrTooDeep) {
					t.Fatalf("ParseValue = %v, %v; want a SyntaxError", v, err)
				}
				return
			}
			if err != nil || v.String() != tt.want {
				t.Fatalf("ParseValue = %v, %v; want %s", v, err, tt.want)
			}
			if again := value(t, v.String()); !again.Equal(v) {
				t.Errorf("%v does not equal itself read again", v)
			}
		})
	}
}

func TestParseValueDepth(t *testing.T) {
	t.Parallel()
	for _, shape := range []struct{ open, close string }{{"[", "]"}, {`{"a":`, "}"}} {
		nest := func(n int) []byte {
			return []byte(strings.Repeat(shape.open, n) + "[]" + strings.Repeat(shape.close, n))
		}
		if _, err := state.ParseValue(nest(state.MaxDepth - 1)); err != nil {
			t.Errorf("%d levels of %s: %v", state.MaxDepth, shape.open, err)
		}
		_, err := state.ParseValue(nest(state.MaxDepth))
		if !errors.Is(err, state.ErrTooDeep) || !errors.Is(err, state.ErrSyntax) {
			t.Errorf("%d levels of %s = %v; want ErrTooDeep", state.MaxDepth+1, shape.open, err)
		}
	}
	if _, err := state.ParseValue([]byte(strings.Repeat("[", 50_000_000))); !errors.Is(err, state.ErrTooDeep) {
		t.Errorf("bomb = %v; want ErrTooDeep", err)
	}
}

// A value must not change when the buffer it was read from is used again.
func TestParseValueDoesNotAlias(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1000)
	text := `{"key":["text","\u0041",12345,"` + long + `"]}`
	data := []byte(text)
	v, err := state.ParseValue(data)
	if err != nil {
		t.Fatal(err)
	}
	want := v.String()
	clear(data)
	if got := v.String(); got != want {
		t.Errorf("value became %s", got)
	}
}
