package storetest

import (
	"slices"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// repairPromises are about making views anew. That damage is mended is for
// each backend to show, which alone knows how to do damage.
func repairPromises() []promise {
	return []promise{
		{"NothingToRepair", "Repairer.Repair: what is whole is left as it is, whatever happened to a thread.", repairLeavesWhole},
		{"OneThread", "Repairer.Repair: it looks at the thread it is asked for, and one that never was is not found.", repairOne},
		{"BesideWriters", "Repairer.Repair: each thread is done in a transaction of its own, beside those who write.", repairBesideWriters},
	}
}

// repair repairs, which must succeed, and returns the report and what was told.
func (k *kit) repair(req selvage.RepairRequest) (selvage.RepairReport, []selvage.RepairedThread) {
	k.Helper()
	var told []selvage.RepairedThread
	req.Told = func(t selvage.RepairedThread) { told = append(told, t) }
	r, _ := selvage.As[selvage.Repairer](k.store)
	report, err := r.Repair(k.Context(), req)
	if err != nil {
		k.Fatalf("repair: %v", err)
	}
	return report, told
}

// lived makes a thread of every kind of fate and returns their ids.
func (k *kit) lived() []selvage.ThreadID {
	k.Helper()
	whole := newID()
	k.history(whole)
	rewound := k.create(says("one"), patch(state.Set("/n", state.Int(1))), says("two", "three"), patch(state.Increment("/n", state.Int(1))))
	k.append(rewound, selvage.ChangeSet{Rewind: ptr(selvage.Version(2))}, selvage.Any())
	k.append(rewound, says("four"), selvage.Any())
	deleted := k.create(says("gone"))
	k.delete(deleted, selvage.DeleteReject)
	again := k.create(says("before"))
	k.delete(again, selvage.DeleteReject)
	k.append(again, says("after"), selvage.Recreate())
	child := k.create(selvage.ChangeSet{Thread: &selvage.ThreadUpdate{ParentID: &whole}}, selvage.ChangeSet{Runs: []selvage.RunUpdate{running(selvage.RunID("run-" + selvage.NewID()))}})
	long := k.talk(100, 1)
	return []selvage.ThreadID{whole, rewound, again, child, long, deleted}
}

func repairLeavesWhole(k *kit) {
	k = k.alone()
	ids := k.lived()
	before := k.view(ids)
	for _, dry := range []bool{true, false, false} {
		report, told := k.repair(selvage.RepairRequest{DryRun: dry})
		if report.Threads != len(ids) || report.Repaired != 0 || report.Lost != 0 || report.Orphans != 0 {
			k.Errorf("a sound store of %d threads is reported as %+v: %+v", len(ids), report, told)
		}
		if len(told) != report.Threads {
			k.Errorf("%d threads were told; want %d", len(told), report.Threads)
		}
	}
	if after := k.view(ids); after != before {
		k.Errorf("repairing a sound store changed it: %s", difference(after, before))
	}
	for _, id := range ids[:5] {
		k.append(id, says("it goes on"), selvage.Any())
		k.verify(k.log(id))
	}
}

func repairOne(k *kit) {
	id, other := k.create(says("one"), says("two")), k.create(says("three"))
	report, told := k.repair(selvage.RepairRequest{Thread: id})
	if report.Threads != 1 || len(told) != 1 || told[0].ID != id || told[0].Version != 2 || told[0].ID == other {
		k.Errorf("repairing one thread of two versions is reported as %+v, %+v", report, told)
	}
	r, _ := selvage.As[selvage.Repairer](k.store)
	_, err := r.Repair(k.Context(), selvage.RepairRequest{Thread: "never-was"})
	k.class("repair of a thread that never was", err, selvage.ErrNotFound)
}

func repairBesideWriters(k *kit) {
	k = k.alone()
	ids := []selvage.ThreadID{k.create(says("a")), k.create(says("b"))}
	k.noErrors(together(4, func(i int) error {
		for range 10 {
			if i == 3 {
				r, _ := selvage.As[selvage.Repairer](k.store)
				report, err := r.Repair(k.Context(), selvage.RepairRequest{})
				if err != nil {
					return err
				}
				if report.Repaired+report.Lost > 0 {
					k.Errorf("beside writers a sound store is reported as %+v", report)
				}
				continue
			}
			if _, err := k.store.Append(k.Context(), ids[i%2], says("more"), selvage.Any()); err != nil {
				return err
			}
		}
		return nil
	}))
	total := 0
	for _, id := range ids {
		log := k.log(id)
		k.verify(log)
		total += len(log)
	}
	if want := 2 + 3*10; total != want || slices.Contains(ids, "") {
		k.Errorf("after 30 appends beside repairs the logs hold %d changes; want %d", total, want)
	}
}
