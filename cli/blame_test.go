package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/inmem"
)

// TestBlame follows values through ops that move them, and past rewinds.
func TestBlame(t *testing.T) {
	t.Parallel()
	text := state.String
	three := selvage.Version(3)
	snapshot, err := state.Parse([]byte(`{"kept":1,"list":["x"]}`))
	if err != nil {
		t.Fatal(err)
	}
	ops := func(ops ...state.Op) selvage.ChangeSet {
		return selvage.ChangeSet{Patches: []selvage.StatePatch{{Source: "test", Ops: ops}}}
	}
	for name, tt := range map[string]struct {
		sets []selvage.ChangeSet
		at   selvage.Version
		path string
		want string // PATH=VERSION, in order
	}{
		"members": {[]selvage.ChangeSet{ops(state.Set("/a", state.Int(1)), state.Set("/b/c", state.Int(2))), ops(state.Set("/b/d", state.Int(3))), ops(state.Increment("/a", state.Int(1)))},
			0, "", "/a=3 /b/c=1 /b/d=2"},
		"below a path": {[]selvage.ChangeSet{ops(state.Set("/a", state.Int(1)), state.Set("/b/c", state.Int(2))), ops(state.Set("/b/d", state.Int(3)))},
			0, "/b", "/b/c=1 /b/d=2"},
		"the same value set again": {[]selvage.ChangeSet{ops(state.Set("/a", state.Int(1))), ops(state.Set("/a", state.Int(1)))}, 0, "", "/a=2"},
		"appended": {[]selvage.ChangeSet{ops(state.Append("/l", text("a"))), ops(state.Append("/l", text("b"))), ops(state.Append("/l", text("c")))},
			0, "", "/l/0=1 /l/1=2 /l/2=3"},
		"deleted in front": {[]selvage.ChangeSet{ops(state.Append("/l", text("a"))), ops(state.Append("/l", text("b"))), ops(state.Append("/l", text("c"))), ops(state.Delete("/l/0"))},
			0, "", "/l/0=2 /l/1=3"},
		"inserted between": {[]selvage.ChangeSet{ops(state.Append("/l", text("a"))), ops(state.Append("/l", text("b"))), ops(state.Insert("/l/1", text("m")))},
			0, "", "/l/0=1 /l/1=3 /l/2=2"},
		"emptied": {[]selvage.ChangeSet{ops(state.Append("/l", text("a"))), ops(state.Delete("/l/0"))}, 0, "", "/l=2"},
		"deleted and made again": {[]selvage.ChangeSet{ops(state.Set("/a/b", state.Int(1))), ops(state.Delete("/a")), ops(state.Set("/a/b", state.Int(1)))},
			0, "", "/a/b=3"},
		"a snapshot": {[]selvage.ChangeSet{ops(state.Set("/a", state.Int(1))), {Snapshot: &snapshot}, ops(state.Append("/list", text("y")))},
			0, "", "/kept=2 /list/0=2 /list/1=3"},
		"an old version": {[]selvage.ChangeSet{ops(state.Set("/a", state.Int(1))), ops(state.Set("/a", state.Int(2)))}, 1, "", "/a=1"},
		"past a rewind": {[]selvage.ChangeSet{ops(state.Set("/a", state.Int(1))), ops(state.Set("/b", state.Int(1))), ops(state.Set("/c", state.Int(1))),
			ops(state.Set("/a", state.Int(2)), state.Set("/c", state.Int(2))), {Rewind: &three}, ops(state.Set("/b", state.Int(3)))},
			0, "", "/a=1 /b=6 /c=3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := inmem.New(inmem.Options{})
			defer store.Close()
			pre := selvage.New()
			for _, set := range tt.sets {
				if _, err := store.Append(t.Context(), "t", set, pre); err != nil {
					t.Fatal(err)
				}
				pre = selvage.Any()
			}
			values, err := blame(t.Context(), store, "t", state.Pointer(tt.path), tt.at, false)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, v := range values {
				got = append(got, fmt.Sprintf("%s=%d", v.Path, v.Version))
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("blame says %q, want %q", strings.Join(got, " "), tt.want)
			}
		})
	}
}
