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

func longWay(k *kit) {
	const n = 600
	id := k.counted(n)
	var steps []selvage.CompactReport
	report, err := k.compactor().Compact(k.Context(), selvage.CompactRequest{Thread: id, Retention: keepLast(5),
		Progress: func(r selvage.CompactReport) { steps = append(steps, r) }})
	if err != nil || report.Changes != n-5 || report.Moved != 1 || report.Bytes <= 0 {
		k.Fatalf("the report is %s (%v); want %d changes of one thread", encode(k, report), err, n-5)
	}
	if len(steps) < 3 || steps[len(steps)-1] != report {
		k.Errorf("progress was told as %s; want some steps that end with the report", encode(k, steps))
	}
	for v := selvage.Version(1); v <= n; v += 7 {
		_, err := k.store.State(k.Context(), id, v)
		if gone := v < n-5; gone != errors.Is(err, selvage.ErrGone) || !gone && err != nil {
			k.Errorf("the state at version %d: %v; want it gone up to %d", v, err, n-6)
		}
	}
	for v := selvage.Version(n - 5); v <= n; v++ {
		if got, want := k.state(id, v), fmt.Sprintf(`"n":%d}`, v-1); !strings.HasSuffix(got, want) {
			k.Errorf("the state at version %d is %s; want it to end with %s", v, got, want)
		}
	}
	k.verify(k.log(id))
}

func rewindsStayCompacted(k *kit) {
	back := func(id selvage.ThreadID, v selvage.Version) {
		k.Helper()
		k.append(id, selvage.ChangeSet{Rewind: ptr(v)}, selvage.Any())
	}
	id := k.counted(6)
	k.append(id, says("no state"), selvage.Any())                           // 7
	back(id, 2)                                                             // 8
	k.append(id, says("no state"), selvage.Any())                           // 9
	k.append(id, counting(20), selvage.Any())                               // 10
	back(id, 5)                                                             // 11
	k.append(id, patch(state.Increment("/n", state.Int(1))), selvage.Any()) // 12
	back(id, 9)                                                             // 13
	k.append(id, says("no state"), selvage.Any())                           // 14
	before := k.states(id)
	k.compact(id, 0) // what made the state is of versions 1 and 2
	k.equal("the states", k.states(id), goneBelow(before, 2))
	for i := range 3 {
		k.append(id, counting(30+i), selvage.Any()) // 15, 16, 17
	}
	before = append(before, k.states(id)[14:]...)
	for _, keep := range []int{2, 1} {
		k.compact(id, keep)
		k.equal("the states", k.states(id), goneBelow(before, 17-keep))
	}
	k.refuse(id, selvage.ChangeSet{Rewind: ptr(selvage.Version(14))}, selvage.Any(), selvage.ErrGone)
	back(id, 16)
	if got := k.state(id, 0); got != before[15] {
		k.Errorf("rewound to version 16 the state is %s; want %s", got, before[15])
	}
	k.verify(k.log(id))

	// A horizon between a rewind and where it goes back to.
	id = k.counted(4)
	k.append(id, says("no state"), selvage.Any()) // 5
	back(id, 2)                                   // 6
	k.append(id, says("no state"), selvage.Any()) // 7
	k.append(id, counting(9), selvage.Any())      // 8
	back(id, 4)                                   // 9
	k.append(id, says("no state"), selvage.Any()) // 10
	before = k.states(id)
	k.compact(id, 0) // of the line 1 2 3 4, 9 10
	k.equal("the states between", k.states(id), goneBelow(before, 4))
	k.append(id, counting(40), selvage.Any())
	before = append(before, k.state(id, 0))
	k.compact(id, 1)
	k.equal("the states between, once more", k.states(id), goneBelow(before, 4))
	k.verify(k.log(id))
}

func forksOfWhatIsLeft(k *kit) {
	id := k.counted(5)
	m := k.load(id).Messages[3]
	k.erase(id, m.ID)
	k.compact(id, 1)
	forker, ok := selvage.As[selvage.Forker](k.store)
	if !ok {
		k.Fatalf("a %T offers no Forker", k.store)
	}
	_, err := forker.Fork(k.Context(), selvage.ForkRequest{From: id, At: 3, To: newID()})
	k.class("a fork below the horizon", err, selvage.ErrGone)
	for _, at := range []selvage.Version{4, 5, 0} {
		to := newID()
		if _, err := forker.Fork(k.Context(), selvage.ForkRequest{From: id, At: at, To: to}); err != nil {
			k.Fatalf("fork at version %d: %v", at, err)
		}
		k.equal("the state of the fork", k.state(to, 0), k.state(id, at))
		k.equal("its messages", skeletons(k.load(to).Messages), skeletons(k.allMessages(id, selvage.MessageQuery{At: at})))
		k.verify(k.log(to))
	}
}

// worn makes a thread with rewinds, erasures and a horizon.
func (k *kit) worn() selvage.ThreadID {
	k.Helper()
	id := k.counted(6)
	m := k.load(id).Messages
	k.append(id, selvage.ChangeSet{Rewind: ptr(selvage.Version(2))}, selvage.Any())
	k.append(id, counting(7), selvage.Any())
	k.append(id, selvage.ChangeSet{Rewind: ptr(selvage.Version(5))}, selvage.Any())
	k.append(id, says("no state"), selvage.Any())
	k.append(id, counting(8), selvage.Any())
	k.append(id, selvage.ChangeSet{Rewind: ptr(selvage.Version(8))}, selvage.Any())
	k.append(id, says("no state"), selvage.Any())
	k.compact(id, 0)
	k.erase(id, m[1].ID, m[5].ID)
	k.append(id, counting(9), selvage.Any())
	k.append(id, counting(10), selvage.Any())
	k.compact(id, 1)
	return id
}

func importsOfWhatIsLeft(k *kit) {
	importer, ok := selvage.As[selvage.Importer](k.store)
	if !ok {
		return
	}
	from := k.alone()
	id := from.worn()
	log := from.log(id)
	for i := range log {
		if v, err := importer.Import(k.Context(), id, log[i:i+1]); err != nil || v != log[i].Version {
			k.Fatalf("import of version %d: at version %d, %v", log[i].Version, v, err)
		}
	}
	k.equal("the log", k.log(id), log)
	k.equal("the states", k.states(id), from.states(id))
	k.equal("the messages", k.load(id).Messages, from.load(id).Messages)
	for _, side := range []*kit{k, from} {
		side.append(id, counting(20), selvage.Any())
		side.compact(id, 0)
	}
	k.equal("the states when both went on", k.states(id), from.states(id))
	k.verify(k.log(id))
}

func nothingToRepair(k *kit) {
	k = k.alone()
	repairer, ok := selvage.As[selvage.Repairer](k.store)
	if !ok {
		return
	}
	id := k.worn()
	before, states := k.picture(id), k.states(id)
	var told []selvage.RepairedThread
	_, err := repairer.Repair(k.Context(), selvage.RepairRequest{Told: func(t selvage.RepairedThread) { told = append(told, t) }})
	if err != nil {
		k.Fatalf("repair failed: %v", err)
	}
	for _, t := range told {
		if len(t.Changed) > 0 || t.Lost != nil {
			k.Errorf("a sound thread was repaired: %v, %v", t.Changed, t.Lost)
		}
	}
	if after := k.picture(id); after != before {
		k.Errorf("a repair of a sound thread left its mark: %s", difference(after, before))
	}
	k.equal("the states", k.states(id), states)
}

func archiveFirst(k *kit) {
	id := newID()
	k.history(id)
	for i := range 5 {
		k.append(id, counting(i), selvage.Any())
	}
	log, before := k.log(id), k.picture(id)
	failed := errors.New("the archive is full")
	var kept []selvage.Change
	room := 3
	request := selvage.CompactRequest{Thread: id, Retention: keepLast(1), Archive: func(c *selvage.Change) error {
		if len(kept) == room {
			return failed
		}
		kept = append(kept, *c)
		return nil
	}}
	if _, err := k.compactor().Compact(k.Context(), request); !errors.Is(err, failed) {
		k.Fatalf("compaction with an archive that fails: %v; want its error", err)
	}
	if after := k.picture(id); after != before {
		k.Errorf("an archive that failed left its mark: %s", difference(after, before))
	}
	kept, room = nil, 100
	report, err := k.compactor().Compact(k.Context(), request)
	if err != nil || int(report.Changes) != len(kept) || len(kept) != 6 {
		k.Fatalf("compaction reports %s (%v) and archived %d changes; want 6", encode(k, report), err, len(kept))
	}
	for i := range kept {
		k.equal("an archived change", kept[i], log[kept[i].Version-1])
		if i > 0 && kept[i].Version <= kept[i-1].Version {
			k.Errorf("version %d was archived after version %d", kept[i].Version, kept[i-1].Version)
		}
	}
}

func dryRunDoesNothing(k *kit) {
	id := newID()
	k.history(id)
	for i := range 20 {
		k.append(id, counting(i), selvage.Any())
	}
	before, states := k.picture(id), k.states(id)
	request := selvage.CompactRequest{Thread: id, Retention: keepLast(3), DryRun: true,
		Archive: func(*selvage.Change) error { return errors.New("a dry run archives nothing") }}
	would, err := k.compactor().Compact(k.Context(), request)
	if err != nil {
		k.Fatalf("a dry run failed: %v", err)
	}
	if after := k.picture(id); after != before {
		k.Errorf("a dry run left its mark: %s", difference(after, before))
	}
	k.equal("the states after a dry run", k.states(id), states)
	k.equal("what was done", k.compact(id, 3), would)
}

func compactRefused(k *kit) {
	for name, r := range map[string]struct {
		request selvage.CompactRequest
		class   error
	}{
		"a negative age":        {selvage.CompactRequest{Retention: &selvage.Retention{Age: -1}}, selvage.ErrInvalid},
		"negative checkpoints":  {selvage.CompactRequest{Retention: keepLast(-1)}, selvage.ErrInvalid},
		"a bad id":              {selvage.CompactRequest{Thread: "a/b"}, selvage.ErrInvalid},
		"a thread that is none": {selvage.CompactRequest{Thread: newID()}, selvage.ErrNotFound},
	} {
		_, err := k.compactor().Compact(k.Context(), r.request)
		k.class("compact with "+name, err, r.class)
	}
	id := k.counted(2)
	k.delete(id, selvage.DeleteReject)
	_, err := k.compactor().Compact(k.Context(), selvage.CompactRequest{Thread: id})
	k.class("compact of a deleted thread", err, selvage.ErrNotFound)
}

func everyThread(k *kit) {
	k = k.alone()
	var ids []selvage.ThreadID
	for range 5 {
		ids = append(ids, k.counted(4))
	}
	k.delete(ids[4], selvage.DeleteReject)
	before := k.states(ids[0])
	report, err := k.compactor().Compact(k.Context(), selvage.CompactRequest{Retention: keepLast(1)})
	if err != nil || report.Threads != 4 || report.Moved != 4 || report.Changes != 12 {
		k.Errorf("the report is %s (%v); want 12 changes of 4 threads", encode(k, report), err)
	}
	for _, id := range ids[:4] {
		k.equal("the states", k.states(id), goneBelow(before, 3))
	}
}

func compactWithErasures(k *kit) {
	for name, both := range map[string]func(id selvage.ThreadID, messages ...string){
		"erased first": func(id selvage.ThreadID, messages ...string) {
			k.erase(id, messages...)
			k.compact(id, 0)
		},
		"compacted first": func(id selvage.ThreadID, messages ...string) {
			k.compact(id, 0)
			k.erase(id, messages...)
		},
		"in turns": func(id selvage.ThreadID, messages ...string) {
			k.erase(id, messages[0])
			k.compact(id, 1)
			k.erase(id, messages...)
			k.compact(id, 0)
			k.erase(id, messages...)
		},
	} {
		id := k.create(says("hello"))
		set := confession()
		set.Patches = patch(state.Set("/a", state.Int(1))).Patches
		first := k.append(id, set, selvage.Any())
		k.append(id, patch(state.Set("/b", state.Int(2))), selvage.Any())
		outline, want := k.outline(k.log(id)), k.state(id, 0)
		both(id, confessed...)
		log := k.log(id)
		k.verify(log)
		k.equal(name+": the outline of the log", k.outline(log[:3]), outline)
		k.replay(id, set, selvage.Any(), first)
		if got := k.state(id, 0); got != want || strings.Contains(k.picture(id), "secret") || !log[1].StateGone() || len(log[1].Erased()) != 3 {
			k.Errorf("%s: the state is %s, version 2 is %s; want state %s, and messages and patches gone", name, got, encode(k, log[1]), want)
		}
	}
}

func compactRecreated(k *kit) {
	id := k.counted(5)
	k.compact(id, 0)
	k.delete(id, selvage.DeleteReject)
	k.append(id, counting(7), selvage.Recreate())
	k.append(id, counting(8), selvage.Any())
	before := k.states(id)[6:]
	if strings.Contains(strings.Join(before, " "), "gone") {
		k.Fatalf("the states of the second life are %v; want none gone", before)
	}
	k.compact(id, 0)
	k.equal("the states of the second life", k.states(id)[6:], []string{"gone", before[1]})
	k.verify(k.log(id))
}

func compactBesideWriters(k *kit) {
	id := k.create(patch(state.Set("/w/0", state.Int(0)), state.Set("/w/1", state.Int(0)), state.Set("/w/2", state.Int(0))))
	const each = 25
	errs := together(6, func(w int) error {
		for i := range each {
			var err error
			switch {
			case w < 3:
				set := patch(state.Increment(state.At("w", fmt.Sprint(w)), state.Int(1)))
				if i%5 == 4 {
					set = says("no state")
				}
				_, err = k.store.Append(k.Context(), id, set, selvage.Any())
			case w == 3:
				var h selvage.Head
				if h, err = k.store.Load(k.Context(), id, selvage.LoadOptions{}); err == nil {
					var at state.Document
					at, err = k.store.State(k.Context(), id, h.Thread.Version)
					if err == nil && !at.Equal(h.State) {
						err = fmt.Errorf("the state at version %d is %v, and was loaded as %v", h.Thread.Version, at, h.State)
					}
				}
				if errors.Is(err, selvage.ErrGone) {
					err = nil // it was compacted in between
				}
			default:
				_, err = k.compactor().Compact(k.Context(), selvage.CompactRequest{Thread: id, Retention: keepLast(w - 4)})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	k.noErrors(errs)
	for w := range 3 {
		if got, _ := k.load(id).State.Get(state.At("w", fmt.Sprint(w))); got.Literal() != fmt.Sprint(each-each/5) {
			k.Errorf("writer %d counted to %s; want %d", w, got.Literal(), each-each/5)
		}
	}
	k.compact(id, 0)
	k.verify(k.log(id))
}

func compactedStaysCompacted(k *kit) {
	k = k.alone()
	id := newID()
	k.history(id)
	for i := range 40 {
		k.append(id, counting(i), selvage.Any())
	}
	k.append(id, selvage.ChangeSet{Rewind: ptr(selvage.Version(12))}, selvage.Any())
	k.append(id, counting(3), selvage.Any())
	k.compact(id, 1)
	before, states := k.picture(id), k.states(id)
	k = k.restart()
	if after := k.picture(id); after != before {
		k.Fatalf("a restart changed what can be read: %s", difference(after, before))
	}
	k.equal("the states", k.states(id), states)
	k.compact(id, 0)
	k.append(id, counting(50), selvage.Any())
	k.equal("the state at the version before", k.states(id)[len(states)-1], states[len(states)-1])
	k.verify(k.log(id))
}
