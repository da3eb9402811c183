package storetest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/inmem"
)

// fault is a mistake that somebody may make in a store, and the promises that
// must not let it pass.
type fault struct {
	name   string
	plant  func(*faulty)
	caught []string // "Group/Promise"
}

// faults are all the planted mistakes.
func faults() []fault {
	return slices.Concat(appendFaults(), ruleFaults(), readFaults(), pageFaults(), deleteFaults(), leaseFaults(), lifeFaults(),
		rewindFaults(), forkFaults(), tenancyFaults(), outboxFaults(), watchFaults(), blobFaults(), recordFaults(), retentionFaults())
}

// named are all promises by "Group/Promise", those about a disk included.
func named(t *testing.T) map[string]promise {
	t.Helper()
	cfg := Config{
		Reopen: func(_ *testing.T, old selvage.Store) selvage.Store { return old },
		Share:  func(_ *testing.T, first selvage.Store) selvage.Store { return first },
	}
	all := make(map[string]promise)
	for _, g := range groups(cfg) {
		for _, p := range g.promises {
			name := g.name + "/" + p.name
			if _, twice := all[name]; twice {
				t.Errorf("two promises are called %s", name)
			}
			all[name] = p
		}
	}
	return all
}

// TestFaultsAreCaught plants one mistake after the other and checks that the
// kit goes red because of it, and stays green without.
func TestFaultsAreCaught(t *testing.T) {
	t.Parallel()
	promises := named(t)
	for _, f := range faults() {
		t.Run(strings.ReplaceAll(f.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			for _, name := range f.caught {
				p, known := promises[name]
				if !known {
					t.Fatalf("there is no promise %s", name)
				}
				broken, output := record(t, p, testKit(t, f.plant))
				if !broken {
					t.Errorf("a store that %s keeps the promise %s (%s); want it caught", f.name, name, p.rule)
				}
				if broken && !strings.Contains(output, p.rule) {
					t.Errorf("%s fails without saying what was promised:\n%s", name, output)
				}
			}
		})
	}
}

// TestFaultlessIsGreen checks what the faults are planted in: each promise
// that catches one must pass without it.
func TestFaultlessIsGreen(t *testing.T) {
	t.Parallel()
	promises := named(t)
	for _, f := range faults() {
		for _, name := range f.caught {
			p, wanted := promises[name]
			delete(promises, name) // once is enough
			if !wanted {
				continue
			}
			k := testKit(t, func(*faulty) {})
			k.patience = patience
			if broken, output := record(t, p, k); broken {
				t.Errorf("%s fails on a sound store:\n%s", name, output)
			}
		}
	}
}

// faultPatience is how long the tests of faults wait in vain. What they wait
// for is in memory.
const faultPatience = 3 * time.Second

// testKit is the kit for stores with a fault. Every store it opens is fresh.
func testKit(t *testing.T, plant func(*faulty)) kit {
	open := func(s sound) selvage.Store {
		f := flawless(s)
		plant(f)
		return f
	}
	fresh := func() selvage.Store { return open(inmem.New(inmem.Options{})) }
	return kit{TB: t, patience: faultPatience, store: fresh(), fresh: fresh}
}

// TestPromisesSaySomething checks the form of what is printed when a promise
// is broken.
func TestPromisesSaySomething(t *testing.T) {
	t.Parallel()
	for name, p := range named(t) {
		source, sentence, found := strings.Cut(p.rule, ": ")
		if !found || source == "" || len(sentence) < 20 || !strings.HasSuffix(sentence, ".") {
			t.Errorf("the rule of %s is %q; want where it stands, a colon, and a sentence", name, p.rule)
		}
	}
}
