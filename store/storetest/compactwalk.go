package storetest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

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
