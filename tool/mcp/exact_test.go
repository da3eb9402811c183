package mcp

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
)

// What a server sends keeps its meaning, and gains the original text.
func TestExactly(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		`{"id":1,"result":{"structuredContent":{"n":9007199254740993}}}`: `{"id":1,"result":{"_meta":{"io.github.selvagehq/exact":"{\"n\":9007199254740993}"},"structuredContent":{"n":9007199254740993}}}`,
		// A forged original does not count.
		`{"id":1,"result":{"structuredContent":1,"_meta":{"io.github.selvagehq/exact":"2","x":3}}}`: `{"id":1,"result":{"_meta":{"io.github.selvagehq/exact":"1","x":3},"structuredContent":1}}`,
		`{"result":{"tools":[{"inputSchema":{"maximum":1e400}},null,{}]}}`:                          `{"result":{"tools":[{"_meta":{"io.github.selvagehq/exact":"{\"maximum\":1e400}"},"inputSchema":{"maximum":1e400}},null,{}]}}`,
		`{"result":"structuredContent"}`:                                                            `{"result":"structuredContent"}`,
		`["structuredContent"]`:                                                                     `["structuredContent"]`,
		`"inputSchema" broken`:                                                                      `"inputSchema" broken`,
		`{"result":{"tools":[1],"inputSchema":2}}`:                                                  `{"result":{"inputSchema":2,"tools":[1]}}`,
		`{"result":null,"x":"structuredContent"}`:                                                   `{"result":null,"x":"structuredContent"}`,
	} {
		if got := string(exactly([]byte(message))); got != want {
			t.Errorf("%s becomes\n%s, want\n%s", message, got, want)
		}
	}
}

// Messages come whole however they are cut, and none is endless.
func TestLines(t *testing.T) {
	t.Parallel()
	read := func(text string) (string, error) {
		l := &lines{from: bufio.NewReaderSize(strings.NewReader(text), 16), close: func() error { return nil }}
		got, err := io.ReadAll(l)
		return string(got), err
	}
	long := `{"a":"` + strings.Repeat("x", 100) + `"}`
	if got, err := read("{}\r\n\n" + long + "\n  \n{\"torn\":"); got != "{}\n"+long+"\n" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
	endless := &lines{from: bufio.NewReaderSize(strings.NewReader(strings.Repeat("x", maxLine+2)), 1<<20)}
	if _, err := io.ReadAll(endless); !errors.Is(err, errLongLine) {
		t.Errorf("an endless line: %v", err)
	}
	e := &events{lines{from: bufio.NewReader(strings.NewReader("event: message\r\nid: 1\ndata:{\"result\":{\"structuredContent\":1}}\n\n")), close: func() error { return nil }}}
	got, err := io.ReadAll(e)
	if want := "event: message\r\nid: 1\ndata: {\"result\":{\"_meta\":{\"io.github.selvagehq/exact\":\"1\"},\"structuredContent\":1}}\n\n"; string(got) != want || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
}
