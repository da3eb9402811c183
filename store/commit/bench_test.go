package commit

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
)

// BenchmarkRequest measures what an append costs before and beside its
// store: encoding, digests, judgement.
func BenchmarkRequest(b *testing.B) {
	for _, size := range []int{1 << 10, 4 << 10} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			text := strings.Repeat("twelve words of a message that says very little, again ", size)[:size/2]
			h := Head{Thread: selvage.Thread{ID: "t", Version: 1}, NextSeq: 1}
			l := newLog()
			b.ReportAllocs()
			for b.Loop() {
				set := selvage.ChangeSet{ID: selvage.NewID(), Messages: []selvage.Message{
					{ID: selvage.NewID(), Role: selvage.RoleUser, Content: selvage.Text(text)},
					{ID: selvage.NewID(), Role: selvage.RoleAssistant, Content: selvage.Text(text)}}}
				r, err := NewRequest("t", set, selvage.Exact(1))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := r.Judge(&h, l, time.Now()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
