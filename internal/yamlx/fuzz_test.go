package yamlx

import (
	"errors"
	"testing"
)

// FuzzParse: whatever is read, the answer is a tree or an [Error], and the
// tree is no larger than what it was read from.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "a: 1\nb: [x, {y: z}]\n", "a: &x [*x]\n", "<<: {a: b}\n", "a: |\n  text\n", "? [a]\n: b\n", "---\n---\n", "%YAML 1.2\n", "\xff\xfe", "[[[[[["} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := Parse(data)
		if err != nil {
			var fault *Error
			if !errors.As(err, &fault) || fault.Reason == "" || fault.Line < 0 {
				t.Fatalf("Parse = %#v; want an *Error with a reason", err)
			}
			return
		}
		if size := nodes(n); size > 2*len(data)+2 {
			t.Fatalf("%d bytes became %d nodes", len(data), size)
		}
	})
}

func nodes(n *Node) int {
	count := 1
	for _, item := range n.Items {
		count += nodes(item)
	}
	for _, e := range n.Entries {
		count += nodes(e.Value)
	}
	return count
}
