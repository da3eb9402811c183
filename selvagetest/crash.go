package selvagetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
)

// Crash puts an agent through a script in processes of their own, and kills
// them: at each place that a script comes to (before and after every append
// and every execution of a tool) one process, after which another goes on from
// what is on disk. Afterwards it looks at what happened, and the test fails for
//
//   - a call of a tool of effect once that ran twice,
//   - an effect of [Life.Effect] that happened twice, or is wanted and did not,
//   - a result that the thread has of a call that never ran, and a call that
//     ran and has no result,
//   - a run that did not end, and a log that does not verify.
//
// The processes are the test binary itself, in which the test that calls Crash
// is run again and Crash does not return. So call it once in a test, first.
func Crash(t *testing.T, agent Agent, script Script) Report {
	t.Helper()
	found := Examine(t, agent, script)
	found.report(t)
	return found
}

// Examine is [Crash], except that what it finds does not fail the test.
func Examine(t *testing.T, agent Agent, script Script) Report {
	t.Helper()
	if o, child := ordered(t); child {
		code := 0
		if err := live(o, agent, &script); err != nil {
			fmt.Fprintln(os.Stderr, "selvagetest:", err)
			code = 1
		}
		os.Exit(code)
	}
	if len(script.Inputs) == 0 {
		t.Fatal("selvagetest: Script.Inputs is empty; say what the user says, one text for each run")
	}
	found, err := try(t, &script)
	if err != nil {
		t.Fatalf("selvagetest: %v", err)
	}
	return found
}

// ordered returns what this process is to do, if it is that of an agent.
func ordered(t *testing.T) (order, bool) {
	var o order
	text := os.Getenv(childEnv)
	if text == "" || json.Unmarshal([]byte(text), &o) != nil || o.Test != t.Name() {
		return o, false
	}
	return o, true
}

// try kills processes as the script says.
func try(t *testing.T, script *Script) (Report, error) {
	whole := &trial{test: t.Name(), dir: t.TempDir(), script: script}
	ctx := t.Context()
	if script.Kills > 0 {
		return whole.killOften(ctx)
	}
	// The first one is not killed, and tells how many places there are.
	if err := whole.finish(ctx); err != nil {
		return Report{}, err
	}
	sum, err := whole.audit(ctx)
	if err != nil {
		return sum, err
	}
	sum.Points = int(whole.end.Places)
	return sum, killEverywhere(ctx, t, whole, &sum)
}

// killEverywhere kills one agent at each place.
func killEverywhere(ctx context.Context, t *testing.T, whole *trial, sum *Report) error {
	step := 1
	if most := whole.script.Points; most > 0 && sum.Points > most {
		step = (sum.Points + most - 1) / most
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	reports := make([]Report, sum.Points+1)
	for place := 1; place <= sum.Points; place += step {
		one := &trial{test: whole.test, dir: filepath.Join(t.TempDir(), fmt.Sprint(place)), script: whole.script}
		g.Go(func() error {
			err := one.killAt(ctx, int64(place))
			if err == nil {
				reports[place], err = one.audit(ctx)
			}
			where := one.where(place, sum.Points)
			for _, list := range []*[]string{&reports[place].Repeated, &reports[place].Lost, &reports[place].Broken} {
				for i, text := range *list {
					(*list)[i] = where + ": " + text
				}
			}
			if err != nil {
				return fmt.Errorf("%s: %w", where, err)
			}
			return nil
		})
	}
	err := g.Wait()
	for _, r := range reports {
		sum.add(r)
	}
	return err
}

// trial is one agent and its lives.
type trial struct {
	test   string
	dir    string
	script *Script
	kills  int
	end    told // of the life that was not killed
}

// killAt kills the first life at a place, and lets the second one finish.
func (r *trial) killAt(ctx context.Context, place int64) error {
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return err
	}
	if _, err := r.life(ctx, place); err != nil {
		return err
	}
	return r.finish(ctx)
}

// where says at which place an agent was killed, as its process left it.
func (r *trial) where(place, all int) string {
	text := fmt.Sprintf("killed at place %d of %d", place, all)
	if name, err := os.ReadFile(filepath.Join(r.dir, killedFile)); err == nil {
		text += " (" + string(name) + ")"
	}
	return text
}

// killOften kills life after life, each a little later than it began.
func (r *trial) killOften(ctx context.Context) (Report, error) {
	dice := rand.New(rand.NewPCG(r.script.Seed, 0))
	for r.kills < r.script.Kills {
		killed, err := r.life(ctx, 1+dice.Int64N(placesOfALife))
		if err != nil {
			return Report{}, err
		}
		if !killed {
			break // nothing is left to be killed at
		}
	}
	if err := r.finish(ctx); err != nil {
		return Report{}, err
	}
	found, err := r.audit(ctx)
	found.Dir = r.dir
	return found, err
}

// placesOfALife is how far a life comes at most that is killed at random: about
// three turns with a tool.
const placesOfALife = 20

// finish is a life that nobody ends.
func (r *trial) finish(ctx context.Context) error {
	if _, err := r.life(ctx, 0); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(r.dir, reportFile))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, &r.end)
}

// life runs a process of the agent, and reports whether it was killed.
func (r *trial) life(ctx context.Context, place int64) (killed bool, err error) {
	self, err := os.Executable()
	if err != nil {
		return false, err
	}
	what, err := json.Marshal(order{Test: r.test, Dir: r.dir, Place: place})
	if err != nil {
		return false, err
	}
	cmd := exec.CommandContext(ctx, self, "-test.run="+pattern(r.test), "-test.count=1")
	cmd.Env = append(os.Environ(), childEnv+"="+string(what))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return false, nil
	case ctx.Err() == nil && place > 0 && errors.As(err, &exit) && exit.ExitCode() == -1:
		r.kills++
		return true, nil
	}
	return false, fmt.Errorf("a process of the agent: %w\n%s", err, out.String())
}

// pattern selects one test, which may be within others.
func pattern(test string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}
