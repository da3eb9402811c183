package sqlite_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

// BenchmarkLoad measures a load of the last 200 of 1 000 messages by a store
// that remembers nothing of the thread.
func BenchmarkLoad(b *testing.B) {
	ctx := b.Context()
	s, err := sqlite.Open(ctx, filepath.Join(b.TempDir(), "store.db"), sqlite.Options{CacheBytes: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for i := range 500 {
		answer := selvage.Message{Role: selvage.RoleAssistant, Content: selvage.Text(strings.Repeat("What was answered, in \"words\". ", 16))}
		set := selvage.ChangeSet{Messages: []selvage.Message{selvage.UserText(fmt.Sprintf("question %d", i)), answer}}
		pre := selvage.Any()
		if i == 0 {
			pre = selvage.New()
		}
		if _, err := s.Append(ctx, "t", set, pre); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if head, err := s.Load(ctx, "t", selvage.LoadOptions{}); err != nil || len(head.Messages) != selvage.DefaultWindow {
			b.Fatalf("%d messages: %v", len(head.Messages), err)
		}
	}
}
