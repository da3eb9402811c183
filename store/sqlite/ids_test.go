package sqlite_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

func TestIDKeys(t *testing.T) {
	t.Parallel()
	const v7, v4 = "019aa2f0-7c9e-7abc-8def-0123456789ab", "019aa2f0-7c9e-4abc-8def-0123456789ab"
	if key := sqlite.IDKey(v7, 5); len(key) != 16 || !bytes.Equal(key, sqlite.IDKey(v7, 6)) {
		t.Errorf("a UUIDv7 has the key %x; want its 16 bytes, whatever the thread", key)
	}
	seen := map[string]string{string(sqlite.IDKey(v7, 5)): v7}
	for _, id := range []string{
		v4, strings.ToUpper(v7), "ff" + v7[2:], v7[:35], v7 + "0", strings.Replace(v7, "-", "_", 1), "{" + v7 + "}", strings.ReplaceAll(v7, "-", ""),
		"019aa2f0-7c9e-7abc-8def-0123456789ag", "019aa2f-07c9e-7abc-8def-0123456789ab", "a", "b", "é", "e\u0301",
	} {
		key := sqlite.IDKey(id, 5)
		if other, taken := seen[string(key)]; taken {
			t.Errorf("%q and %q have the same key", id, other)
		}
		seen[string(key)] = id
		if key[0] != 0xff || bytes.Equal(key, sqlite.IDKey(id, 6)) || !bytes.Equal(key, sqlite.IDKey(id, 5)) {
			t.Errorf("%q has the key %x; want one of its thread, after every UUIDv7", id, key)
		}
	}
}

// TestIDsSurvive stores ids of all forms and reads them back.
func TestIDsSurvive(t *testing.T) {
	t.Parallel()
	s := fresh(t, sqlite.Options{})
	ids := []string{selvage.NewID(), strings.ToUpper(selvage.NewID()), "00000000-0000-0000-0000-000000000000", "plain", strings.Repeat("x", 200), "0", "1e3"}
	var pre selvage.Precondition = selvage.New()
	for _, id := range ids {
		set := selvage.ChangeSet{ID: id, RunID: selvage.RunID(id), ParentRunID: selvage.RunID(id)}
		pre = selvage.Exact(appendTo(t, s, "t", set, pre).Version)
	}
	for i, c := range wholeLog(t, s, "t") {
		if c.ID != ids[i] || string(c.RunID) != ids[i] || string(c.ParentRunID) != ids[i] {
			t.Errorf("id %q came back as %q, %q, %q", ids[i], c.ID, c.RunID, c.ParentRunID)
		}
	}
}

// FuzzUnpackMessages reads whatever may stand in the columns of a body.
func FuzzUnpackMessages(f *testing.F) {
	f.Add([]byte{2}, []byte(`[{},{}]`))
	f.Add([]byte(nil), []byte(`[{"a":1}]`))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, []byte(`[]`))
	f.Fuzz(func(t *testing.T, sizes, body []byte) {
		messages, err := sqlite.UnpackMessages(sizes, body)
		if err != nil {
			return
		}
		back, again := sqlite.PackMessages(messages)
		if len(messages) > 0 && !bytes.Equal(again.([]byte), body) {
			t.Fatalf("%q became %q", body, again)
		}
		size, _ := back.([]byte)
		same, err := sqlite.UnpackMessages(size, body)
		if err != nil || !slices.EqualFunc(same, messages, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			t.Fatalf("%q became %q, %v", messages, same, err)
		}
	})
}
