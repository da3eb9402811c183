package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/inmem"
	"github.com/selvagehq/selvage/store/sqlite"
)

// TestRewindAndWhatSavesTheWay goes back and forth in a log that is long enough
// for marks and cached documents, has documents cached all the time, and asks a
// store that remembers nothing.
func TestRewindAndWhatSavesTheWay(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 9))
			s := open(t, filepath.Join(t.TempDir(), "selvage.db"), sqlite.Options{Durability: sqlite.Ephemeral})
			defer closeStore(t, s)
			model := inmem.New(inmem.Options{})
			pre := selvage.New()
			const steps = 400
			for step := range steps {
				set := selvage.ChangeSet{ID: fmt.Sprint("set-", step)}
				switch n := random.IntN(40); {
				case n == 0 && step > 0:
					to := selvage.Version(random.IntN(step) + 1)
					set.Rewind = &to
				case n < 30:
					set.Patches = []selvage.StatePatch{{Ops: state.Patch{state.Set(state.At(fmt.Sprint("k", random.IntN(5))), state.Int(int64(step)))}}}
				}
				if set.Rewind == nil && random.IntN(3) > 0 {
					set.Messages = []selvage.Message{{ID: fmt.Sprint("m", random.IntN(300)), Role: selvage.RoleUser, Content: selvage.Text("x")}}
				}
				for _, store := range []selvage.Store{s, model} {
					if _, err := store.Append(t.Context(), "t", set, pre); err != nil {
						t.Fatal(err)
					}
				}
				pre = selvage.Any()
				if step%25 == 24 {
					s.RestNow()
					s.Forget()
				}
			}
			if n := count(t, s, "SELECT count(*) FROM state_cache"); n < 2 {
				t.Errorf("%d state documents are cached; want some, or nothing was tested", n)
			}
			for v := selvage.Version(1); v <= steps; v += 3 {
				s.Forget()
				is, err1 := s.State(t.Context(), "t", v)
				want, err2 := model.State(t.Context(), "t", v)
				if err1 != nil || err2 != nil || !is.Equal(want) {
					t.Fatalf("state at version %d is %s, %v; want %s, %v", v, is, err1, want, err2)
				}
				if v%5 == 0 {
					compareMessages(t, s, model, v)
				}
			}
			if n := count(t, s, "SELECT count(*) FROM ids WHERE kind = 1"); n != int64(len(visible(t, model, 0))) {
				t.Errorf("%d ids of messages are kept; want those of the %d that can be seen", n, len(visible(t, model, 0)))
			}
		})
	}
}

func compareMessages(t *testing.T, s, model selvage.Store, v selvage.Version) {
	t.Helper()
	is, want := visible(t, s, v), visible(t, model, v)
	if len(is) != len(want) {
		t.Fatalf("%d messages can be seen at version %d; want %d", len(is), v, len(want))
	}
	for i := range is {
		if is[i].Seq != want[i].Seq || is[i].ID != want[i].ID {
			t.Fatalf("at version %d message %d has seq %d, id %s; want %d, %s", v, i, is[i].Seq, is[i].ID, want[i].Seq, want[i].ID)
		}
	}
}

func visible(t *testing.T, s selvage.Store, v selvage.Version) (all []selvage.Message) {
	t.Helper()
	limit := selvage.MaxPage
	q := selvage.MessageQuery{At: v, Visibility: selvage.ShowAll, Limit: &limit}
	for more := true; more; more = q.Cursor != "" {
		p, err := s.Messages(t.Context(), "t", q)
		if err != nil {
			t.Fatal(err)
		}
		all, q.Cursor = append(all, p.Items...), p.Next
	}
	return all
}
