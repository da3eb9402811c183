package cli_test

import (
	"regexp"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// patience bounds what a script waits for, so that a broken command fails its
// test instead of hanging it.
const patience = 30 * time.Second

// awaitCommand runs a command until its stdout matches: await REGEXP program
// [args...]. Other processes are at work meanwhile, and nothing tells of them
// but what they record.
func awaitCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: await REGEXP program [args...]")
	}
	want, err := regexp.Compile(args[0])
	ts.Check(err)
	for deadline := time.Now().Add(patience); ; {
		// A command that fails has nothing to show yet.
		if err := ts.Exec(args[1], args[2:]...); err == nil && want.MatchString(ts.ReadFile("stdout")) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("nothing matched %q within %s", args[0], patience)
		}
	}
}
