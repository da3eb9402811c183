package runner_test

import (
	"fmt"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/store/inmem"
	"github.com/selvagehq/selvage/tool"
)

// BenchmarkTurn measures what the loop costs beside model and store: a user
// turn with one tool, on threads of different lengths.
func BenchmarkTurn(b *testing.B) {
	for _, n := range []int{0, 1000, 10_000} {
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			store := inmem.New(inmem.Options{})
			fill(b, store, "t", n)
			r := newRunner(b, runner.Options{Store: store, Tools: []tool.Tool{echoTool("echo", selvage.EffectNone)}})
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Run(b.Context(), "t", runner.Text(oneCall)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// fill makes a thread of n messages.
func fill(t testing.TB, store selvage.Store, id selvage.ThreadID, n int) {
	t.Helper()
	if _, err := store.Append(t.Context(), id, selvage.ChangeSet{}, selvage.New()); err != nil {
		t.Fatal(err)
	}
	for n > 0 {
		set := selvage.ChangeSet{}
		for range min(n, 500) {
			m := selvage.UserText(fmt.Sprintf("message %d, %0200d", n, n))
			if n%2 == 0 {
				m.Role = selvage.RoleAssistant
			}
			set.Messages = append(set.Messages, m)
			n--
		}
		if _, err := store.Append(t.Context(), id, set, selvage.Any()); err != nil {
			t.Fatal(err)
		}
	}
}
