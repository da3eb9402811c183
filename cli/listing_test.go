package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/selvagehq/selvage"
)

// TestListingPages: a command may ask for more than a page holds, for part of
// one, or for everything.
func TestListingPages(t *testing.T) {
	t.Parallel()
	const there = 2*selvage.MaxPage + 50
	number := func(n int) *int { return &n }
	tests := []struct {
		name string
		p    pages
		want int
		next string
	}{
		{"default", pages{}, selvage.DefaultPage, "50"},
		{"none", pages{limit: count{number(0)}}, 0, ""},
		{"more than a page", pages{limit: count{number(300)}}, 300, "300"},
		{"more than there is", pages{limit: count{number(1000)}}, there, ""},
		{"exactly what there is", pages{limit: count{number(there)}}, there, ""},
		{"all", pages{all: true}, there, ""},
		{"the rest", pages{all: true, cursor: "440"}, 10, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			a, err := newApp(Options{Args: []string{"--json"}, Env: []string{"HOME=/", "SELVAGE_OUTPUT=json"}, Dir: t.TempDir(), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs})
			if err != nil {
				t.Fatal(err)
			}
			if err := a.prepare(a.rootCommand()); err != nil {
				t.Fatal(err)
			}
			l := listing[int]{item: func(n *int) any { return *n }, fetch: func(_ context.Context, limit *int, cursor selvage.Cursor) ([]int, selvage.Cursor, error) {
				if *limit > selvage.MaxPage {
					t.Errorf("asked for %d, more than a page", *limit)
				}
				at, _ := strconv.Atoi(string(cursor)) // none is 0
				var items []int
				for len(items) < *limit && at < there {
					items, at = append(items, at), at+1
				}
				if at == there || *limit == 0 {
					return items, "", nil
				}
				return items, selvage.Cursor(strconv.Itoa(at)), nil
			}}
			if err := l.print(t.Context(), a, &tt.p); err != nil {
				t.Fatal(err)
			}
			a.tellHeld()
			var doc struct {
				Items []int  `json:"items"`
				Next  string `json:"next_cursor"`
			}
			if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
				t.Fatal(err)
			}
			if len(doc.Items) != tt.want || doc.Next != tt.next {
				t.Errorf("%d items, next %q; want %d, %q", len(doc.Items), doc.Next, tt.want, tt.next)
			}
			if told := strings.Contains(errs.String(), "there are more"); told != (tt.next != "") {
				t.Errorf("said %q; the list was cut: %v", errs.String(), tt.next != "")
			}
		})
	}
}
