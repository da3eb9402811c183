package caps_test

import (
	"fmt"

	"github.com/selvagehq/selvage/caps"
)

// What a run hands down must be its own.
func ExampleSubset() {
	parent := caps.Set{"tool.*", "fs.read"}
	fmt.Println(caps.Subset(caps.Set{"tool.clock", "fs.read"}, parent))
	fmt.Println(caps.Subset(caps.Set{"tool.clock", "fs.*"}, parent))
	// Output:
	// <nil>
	// fs.* is not granted; granted is tool.*, fs.read
}
