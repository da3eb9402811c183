package selvage

import (
	"bytes"
	"errors"
	"testing"
)

func TestDecodeChangeSetRefuses(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"unknown field":        `{"mesages":[]}`,
		"unknown nested field": `{"messages":[{"role":"user","contents":"x"}]}`,
		"unknown part field":   `{"messages":[{"role":"user","content":[{"type":"text","txt":"x"}]}]}`,
		"duplicate key":        `{"id":"a","id":"b"}`,
		"trailing data":        `{} {}`,
		"not an object":        `[]`,
		"nothing":              ``,
		"bad op":               `{"patches":[{"ops":[{"op":"explode","path":"/a"}]}]}`,
		"state is not object":  `{"snapshot":[1]}`,
	} {
		if set, err := DecodeChangeSet([]byte(in)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: DecodeChangeSet = %+v, %v; want ErrInvalid", name, set, err)
		}
	}
	if _, err := DecodeChangeSet(bytes.Repeat([]byte(" "), MaxSetBytes+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a set beyond the limit: %v, want ErrTooLarge", err)
	}
}

// FuzzDecodeChangeSet holds that what is accepted can be stored and read
// back: the body of the set read again is the body that was written.
func FuzzDecodeChangeSet(f *testing.F) {
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"id":"a","reason":"user_message","messages":[{"role":"user","content":"hi"}]}`))
	f.Add([]byte(`{"patches":[{"ops":[{"op":"increment","path":"/n","value":1}]}],"snapshot":{"a":[1,2,{"b":null}]}}`))
	f.Add([]byte(`{"runs":[{"id":"r","status":"done","outcome":{"kind":"failed"},"cost":"0.5"}],"calls":[{"call_id":"c","status":"started"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := DecodeChangeSet(data)
		if err != nil {
			if !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrTooLarge) {
				t.Fatalf("an error of no class: %v", err)
			}
			return
		}
		body, err := EncodeBody(&set)
		if err != nil {
			t.Fatalf("accepted, and cannot be encoded: %v", err)
		}
		c := Change{ID: set.ID, RunID: set.RunID, ParentRunID: set.ParentRunID, Reason: set.Reason,
			Salt: body.Salt[:], Messages: body.Messages, Rest: body.Rest}
		again, err := c.Set()
		if err != nil {
			t.Fatalf("accepted and encoded, and cannot be read: %v", err)
		}
		second, err := EncodeBody(&again)
		if err != nil {
			t.Fatal(err)
		}
		second.Salt = body.Salt
		if a, b := body.Content("", "", "", ""), second.Content("", "", "", ""); a != b {
			t.Fatalf("read back, it is another set:\n%s\n%s", body.Rest, second.Rest)
		}
	})
}

type place struct {
	Seq int64  `json:"seq"`
	ID  string `json:"id"`
}

func TestCursor(t *testing.T) {
	t.Parallel()
	key, other := CursorKey{1}, CursorKey{2}
	c, err := key.Seal("threads by user u", place{7, "x"})
	if err != nil {
		t.Fatal(err)
	}
	var got place
	if err := key.Open(c, "threads by user u", &got); err != nil || got != (place{7, "x"}) {
		t.Errorf("Open = %+v, %v", got, err)
	}
	if err := key.Open(c, "threads by user v", &got); !errors.Is(err, ErrInvalid) {
		t.Errorf("another query: %v, want ErrInvalid", err)
	}
	if err := other.Open(c, "threads by user u", &got); !errors.Is(err, ErrInvalid) {
		t.Errorf("another store: %v, want ErrInvalid", err)
	}
	for i := range len(c) {
		b := []byte(c)
		b[i]++
		if err := key.Open(Cursor(b), "threads by user u", &got); !errors.Is(err, ErrInvalid) {
			t.Errorf("byte %d changed: %v, want ErrInvalid", i, err)
		}
	}
}

func FuzzCursor(f *testing.F) {
	key := CursorKey{1}
	good, err := key.Seal("shape", place{1, "a"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(good))
	f.Add("")
	f.Add("AAAA")
	f.Fuzz(func(t *testing.T, s string) {
		var p place
		err := key.Open(Cursor(s), "shape", &p)
		switch {
		case err == nil && p != (place{1, "a"}):
			t.Fatalf("%q opens as %+v, which was never sealed", s, p)
		case err != nil && !errors.Is(err, ErrInvalid):
			t.Fatalf("%q: %v, want ErrInvalid", s, err)
		}
	})
}
