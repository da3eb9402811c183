package storetest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

func compactPromises() []promise {
	const rule = "CONTRACT 16: only what a change says about the state is ever compacted"
	return []promise{
		{"BelowIsGone", "CONTRACT 16: state below the horizon answers gone; at it and above it is what it was.", belowIsGone},
		{"AllElseStays", rule + "; messages, runs, calls, events, hashes and the thread stay as they were.", allElseStaysCompacted},
		{"FactsAreProved", "CONTRACT 6, 16: the chain verifies, and so do the facts beside what was compacted.", factsAreProved},
		{"RetentionIsKept", "ARCHITECTURE 3b: what is younger than retention says, or among the last checkpoints, stays.", retentionIsKept},
		{"ReceiptsStay", "CONTRACT 2: receipts stay complete after compaction, and other content under the same id is found out.", compactedSetsAreKnown},
		{"GoesOn", "Compactor.Compact: a compacted thread is written, read and compacted again like any.", compactedGoesOn},
		{"LongWay", "Compactor.Compact: it works in transactions of bounded size, and every version above the horizon is right after it.", longWay},
		{"RewindsStay", "CONTRACT 11, 16: what was rewound to below the horizon stays as it is; going back there now is gone.", rewindsStayCompacted},
		{"ForksOfWhatIsLeft", "CONTRACT 12, 16: what is left can be forked, skeletons of erased messages too; below the horizon a fork is gone.", forksOfWhatIsLeft},
		{"ImportsOfWhatIsLeft", "Importer.Import: a log that was compacted and erased from is taken in as it is, and says the same.", importsOfWhatIsLeft},
		{"NothingToRepair", "Repairer.Repair: what was compacted or erased by the rules is no damage.", nothingToRepair},
		{"ArchiveFirst", "CompactRequest.Archive: it is given each change whole before it is reduced, and an error loses nothing.", archiveFirst},
		{"DryRunDoesNothing", "CompactRequest.DryRun: it works out the report and changes nothing.", dryRunDoesNothing},
		{"Refused", "Compactor.Compact: bad retention is invalid, a thread that does not exist is not_found.", compactRefused},
		{"EveryThread", "CompactRequest.Thread: empty means all threads of the store.", everyThread},
		{"WithErasures", "Compactor, Eraser: each works on what the other has left.", compactWithErasures},
		{"Recreated", "CONTRACT 3, 16: a thread that is made again has a history of its own.", compactRecreated},
		{"BesideWriters", "Compactor.Compact: it works beside other writers, and no reader sees a wrong state.", compactBesideWriters},
	}
}

func compactReopenPromises() []promise {
	return []promise{
		{"CompactedStaysCompacted", "Compactor.Compact: what it did outlives the process.", compactedStaysCompacted},
	}
}

// keepLast is a retention of the last changes of the state, however old.
func keepLast(n int) *selvage.Retention { return &selvage.Retention{Checkpoints: n} }

func (k *kit) compactor() selvage.Compactor {
	k.Helper()
	c, ok := selvage.As[selvage.Compactor](k.store)
	if !ok {
		k.Fatalf("a %T offers no Compactor", k.store)
	}
	return c
}

// compact compacts a thread but for the last changes of its state.
func (k *kit) compact(id selvage.ThreadID, keep int) selvage.CompactReport {
	k.Helper()
	r, err := k.compactor().Compact(k.Context(), selvage.CompactRequest{Thread: id, Retention: keepLast(keep)})
	if err != nil {
		k.Fatalf("compact failed: %v", err)
	}
	return r
}

// states returns the state at every version, "gone" where it is.
func (k *kit) states(id selvage.ThreadID) []string {
	k.Helper()
	var all []string
	for v := range k.load(id).Thread.Version {
		doc, err := k.store.State(k.Context(), id, v+1)
		switch {
		case errors.Is(err, selvage.ErrGone):
			k.class("state", err, selvage.ErrGone)
			all = append(all, "gone")
		case err != nil:
			k.Fatalf("state at version %d: %v", v+1, err)
		default:
			all = append(all, string(doc.AppendJSON(nil)))
		}
	}
	return all
}

// goneBelow is states as they are to be with a horizon.
func goneBelow(states []string, horizon int) []string {
	out := append([]string(nil), states...)
	for i := range horizon - 1 {
		out[i] = "gone"
	}
	return out
}

// counted makes a thread of n versions, each of which counts on and says so.
func (k *kit) counted(n int) selvage.ThreadID {
	k.Helper()
	id := newID()
	for i := range n {
		k.append(id, counting(i), preOf(i))
	}
	return id
}

func preOf(i int) selvage.Precondition {
	if i == 0 {
		return selvage.New()
	}
	return selvage.Exact(selvage.Version(i))
}

func counting(i int) selvage.ChangeSet {
	set := patch(state.Set("/n", state.Int(int64(i))), state.Set(state.At("k", fmt.Sprint(i%3)), state.String(strings.Repeat("x", i%50))))
	set.Messages = []selvage.Message{say("", fmt.Sprint(i))}
	return set
}

func belowIsGone(k *kit) {
	id := newID()
	k.history(id)
	k.append(id, counting(1), selvage.Any())
	k.append(id, says("no state"), selvage.Any())
	k.append(id, counting(2), selvage.Any())
	before := k.states(id)
	k.compact(id, 1) // the state is of versions 3, 5, 9 and 11
	k.equal("the states", k.states(id), goneBelow(before, 9))
	k.compact(id, 0)
	k.equal("the states", k.states(id), goneBelow(before, 11))
	if h := k.load(id); string(h.State.AppendJSON(nil)) != before[10] {
		k.Errorf("the head has state %v; want %s", h.State, before[10])
	}
}

func allElseStaysCompacted(k *kit) {
	id := newID()
	k.history(id)
	for i := range 5 {
		k.append(id, counting(i), selvage.Any())
	}
	outline, head, log := k.outline(k.log(id)), k.load(id), k.log(id)
	messages := k.allMessages(id, selvage.MessageQuery{Visibility: selvage.ShowAll})
	runs := k.runs(selvage.RunQuery{ThreadID: id})
	k.compact(id, 2)
	after := k.log(id)
	k.equal("the outline of the log", k.outline(after), outline)
	k.equal("the head", k.load(id), head)
	k.equal("the messages", k.allMessages(id, selvage.MessageQuery{Visibility: selvage.ShowAll}), messages)
	k.equal("the runs", k.runs(selvage.RunQuery{ThreadID: id}), runs)
	for i := range log {
		k.equal(fmt.Sprintf("the messages of version %d", i+1), after[i].Messages, log[i].Messages)
	}
	for v := range head.Thread.Version {
		k.allMessages(id, selvage.MessageQuery{At: v + 1})
	}
}

func factsAreProved(k *kit) {
	id := newID()
	k.history(id)
	k.append(id, counting(1), selvage.Any())
	k.compact(id, 0)
	log := k.log(id)
	k.verify(log)
	rich := &log[2] // has runs, calls, events and a snapshot
	if !rich.StateGone() || strings.Contains(string(rich.Rest), "snapshot") {
		k.Fatalf("version 3 still has its snapshot: %s", rich.Rest)
	}
	set, err := rich.Set()
	if err != nil || len(set.Runs) != 1 || len(set.Calls) != 1 || len(set.Events) != 2 || set.Thread == nil {
		k.Errorf("the facts of version 3 are %s (%v); want run, call, events and thread", encode(k, set), err)
	}
	rich.Rest = []byte(strings.Replace(string(rich.Rest), "agent-1", "agent-2", 1))
	if rich.Verify(rich.Prev) == nil {
		k.Error("version 3 verifies although its run was changed")
	}
}

func retentionIsKept(k *kit) {
	id := k.counted(12)
	before := k.states(id)
	for name, r := range map[string]*selvage.Retention{
		"the default": nil, "an hour": {Age: time.Hour}, "more checkpoints than there are": keepLast(12), "as many": keepLast(13),
	} {
		report, err := k.compactor().Compact(k.Context(), selvage.CompactRequest{Thread: id, Retention: r})
		if err != nil || report.Moved != 0 || report.Changes != 0 || report.Threads != 1 {
			k.Errorf("with %s the report is %s (%v); want nothing compacted", name, encode(k, report), err)
		}
	}
	k.equal("the states", k.states(id), before)
	k.compact(id, 10)
	k.equal("the states with ten checkpoints", k.states(id), goneBelow(before, 2))
	if report := k.compact(id, 10); report.Moved != 0 {
		k.Errorf("the same once more did %s; want nothing", encode(k, report))
	}
	report := k.compact(id, 3)
	if report.Moved != 1 || report.Changes != 7 {
		k.Errorf("the report is %s; want 7 more changes of one thread", encode(k, report))
	}
	k.equal("the states with three checkpoints", k.states(id), goneBelow(before, 9))
}

func compactedSetsAreKnown(k *kit) {
	id := newID()
	sets := k.history(id)
	var receipts []selvage.Receipt
	for _, set := range sets {
		receipts = append(receipts, k.append(id, set, selvage.Any()))
	}
	k.compact(id, 0)
	for i, set := range sets {
		k.replay(id, set, selvage.Any(), receipts[i])
	}
	other := sets[4]
	other.Patches = patch(state.Set("/deep/er", state.String("other"))).Patches
	k.refuse(id, other, selvage.Any(), selvage.ErrAlreadyExists)
	other.Patches = nil
	k.refuse(id, other, selvage.Any(), selvage.ErrAlreadyExists)
	other = sets[0]
	other.Patches = sets[4].Patches
	k.refuse(id, other, selvage.Any(), selvage.ErrAlreadyExists)
}

func compactedGoesOn(k *kit) {
	id := k.counted(5)
	want := k.states(id)
	for i := range 6 {
		k.compact(id, i%3)
		k.append(id, counting(10+i), selvage.Any())
		k.append(id, patch(state.Increment("/n", state.Int(1))), selvage.Any())
		k.append(id, says("hello"), selvage.Any())
		want = append(want, k.state(id, 6+selvage.Version(3*i)), k.state(id, 7+selvage.Version(3*i)), k.state(id, 0))
	}
	got := k.states(id)
	for i := range got {
		if got[i] != want[i] && got[i] != "gone" {
			k.Errorf("the state at version %d is %s; want %s", i+1, got[i], want[i])
		}
	}
	if n := strings.Count(strings.Join(got, " "), "gone"); n < 15 || got[len(got)-1] == "gone" {
		k.Errorf("%d of %d states are gone; want all but the last few", n, len(got))
	}
	k.verify(k.log(id))
}
