package selvagetest

import (
	"context"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
)

// Agent makes the agent under test. It is called once in each process, before
// the first run. Store, and what is said here of a life, is filled in by the
// harness; models should be offline, such as model/sim, model/replay or a
// script of the test's own.
type Agent func(life *Life) (runner.Options, error)

// Script is what the agent is put through.
type Script struct {
	// Inputs are what the user says, one run after the other on one thread.
	Inputs []string

	// Want, if not nil, are the effects that the script is to have, each once,
	// by the names that [Life.Effect] is given.
	Want []string

	// Decide answers what a run waits for. Nil tells the truth about calls of
	// unknown outcome (the result if the tool had run, and to run it if it had
	// not) and approves everything else.
	Decide func(ctx context.Context, life *Life, q runner.Question) (selvage.Decision, error)

	// Points bounds how many places are tried, spread evenly over all there
	// are; zero is every place. At each of them the process is killed once.
	Points int

	// Kills, if not zero, kills one agent so many times instead, at places
	// that Seed chooses, before it may finish.
	Kills int
	Seed  uint64
}

// Report is what [Crash] found.
type Report struct {
	Dir      string // of the agent that was killed often; empty if there were many
	Points   int    // places at which a process could be killed
	Kills    int    // processes killed
	Unknown  int    // calls of unknown outcome that were asked about
	Repeated []string
	Lost     []string
	Broken   []string // what else is wrong: logs that do not verify, runs that did not end
}

// OK reports whether nothing was wrong.
func (r *Report) OK() bool { return len(r.Repeated)+len(r.Lost)+len(r.Broken) == 0 }

// report makes what was found the failures of a test.
func (r *Report) report(t testing.TB) {
	t.Helper()
	for _, found := range []struct {
		what, hint string
		all        []string
	}{{"repeated", hintRepeated, r.Repeated}, {"lost", hintLost, r.Lost}, {"broken", hintBroken, r.Broken}} {
		for _, text := range found.all {
			t.Errorf("%s: %s", found.what, text)
		}
		if len(found.all) > 0 {
			t.Log("hint: " + found.hint)
		}
	}
}

// What to do about what was found.
const (
	hintRepeated = "after a crash everything is done again but the calls of tools whose effect is once. " +
		"Have such a tool do what must happen once, not a hook, a model or another tool; or hand Call.IdempotencyKey to a service that recognises keys."
	hintLost   = "a tool is to return when its effect is done, not before; and OnUnknown fail gives up a call that was interrupted: ask, probe or retry do not."
	hintBroken = "a run that did not end waits for something: Script.Decide is to answer it. A log that does not verify, or a call that is open, is a mistake of the store or of the loop."
)

func (r *Report) add(other Report) {
	r.Kills += other.Kills
	r.Unknown += other.Unknown
	r.Repeated, r.Lost, r.Broken = append(r.Repeated, other.Repeated...), append(r.Lost, other.Lost...), append(r.Broken, other.Broken...)
}
