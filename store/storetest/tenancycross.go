package storetest

import (
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

func parentsDoNotCross(k *kit) {
	acme, other := k.tenant("acme"), k.tenant("other")
	root := acme.create(says("root"))
	child := other.create(says("child"))
	other.refuseField(child, under(root), selvage.Any(), "thread.parent_id")
	k.refuseField(k.create(says("child")), under(root), selvage.Any(), "thread.parent_id")
	// Their ids may close a circle where no thread does.
	other.append(root, says("namesake"), selvage.New())
	acme.append(child, under(root), selvage.New())
	other.append(root, under(child), selvage.Any())
	if p := acme.parent(root); p != "" {
		k.Errorf("a thread has the parent %q of its namesake; want none", p)
	}
	other.selects(selvage.ThreadQuery{Parent: selvage.ChildrenOf(child)}, root)
	acme.selects(selvage.ThreadQuery{Parent: selvage.ChildrenOf(root)}, child)
}

func leasesDoNotCross(k *kit) {
	acme, other := k.tenant("acme"), k.tenant("other")
	id := newID()
	held := acme.acquire(acme.leaser(), id, owner("a"))
	theirs := other.acquire(other.leaser(), id, owner("b"))
	if theirs.Took != nil || theirs.Epoch != held.Epoch {
		k.Errorf("the lease of a namesake is %s; want the first one of its thread", encode(k, theirs))
	}
	acme.busy(acme.leaser(), owner("c"), held)
	for range 3 {
		if err := other.leaser().Release(k.Context(), theirs); err != nil {
			k.Fatalf("release failed: %v", err)
		}
		theirs = other.acquire(other.leaser(), id, owner("b"))
	}
	acme.append(id, fenced(held.Epoch, "mine"), selvage.New())
	other.refuse(id, fenced(held.Epoch, "not mine"), selvage.New(), selvage.ErrFenced)
	if _, err := other.leaser().Renew(k.Context(), held, minute); err == nil {
		k.Errorf("another tenant renews a lease")
	}
	if err := other.leaser().Release(k.Context(), held); err != nil {
		k.Errorf("release of another tenant's lease: %v; want it to do nothing", err)
	}
	if l := acme.load(id).Lease; l == nil || l.Epoch != held.Epoch {
		k.Errorf("another tenant released the lease of a thread")
	}
}

func deletesDoNotCross(k *kit) {
	acme, other := k.tenant("acme"), k.tenant("other")
	root, child := newID(), newID()
	for _, side := range []*kit{acme, other} {
		side.append(root, says("root"), selvage.New())
		side.append(child, under(root), selvage.New())
		side.append(child, runSet(running(selvage.RunID("run-"+child))), selvage.Any())
		side.append(child, patch(state.Set("/n", state.Int(1))), selvage.Any())
	}
	before := other.picture(root) + other.picture(child)
	acme.delete(root, selvage.DeleteDetach)
	if now := other.picture(root) + other.picture(child); now != before {
		k.Errorf("a delete (detach) of one tenant changed another's: %s", difference(now, before))
	}
	acme.append(root, says("again"), selvage.Recreate())
	acme.append(child, under(root), selvage.Any())
	acme.delete(root, selvage.DeleteCascade)
	if now := other.picture(root) + other.picture(child); now != before {
		k.Errorf("a delete (cascade) of one tenant changed another's: %s", difference(now, before))
	}
	acme.unreadable(child, selvage.ErrNotFound)
	// What is known of message ids of a thread that is gone is its own, too.
	if r := other.append(child, selvage.ChangeSet{Messages: []selvage.Message{say("m", "hello")}}, selvage.Any()); r.Added != 1 {
		k.Errorf("a message was dropped: %s", encode(k, r))
	}
}

func cursorsDoNotCross(k *kit) {
	id := newID()
	one := ptr(1)
	type pages struct {
		threads, messages, changes, runs selvage.Cursor
	}
	sides := []*kit{k.alone()}
	sides = append(sides, sides[0].tenant("acme"), sides[0].tenant("other"))
	first := func(k *kit) (p pages) {
		k.append(id, runSet(running("run-1")), selvage.New())
		k.append(id, runSet(done("run-1"), running("run-2")), selvage.Any())
		k.append(id, says("a", "b"), selvage.Any())
		k.create(says("c"))
		p.messages = k.messages(id, selvage.MessageQuery{Limit: one}).Next
		p.changes = k.changes(id, selvage.ChangeQuery{Limit: one}).Next
		_, p.threads, _ = k.threadPages(selvage.ThreadQuery{Limit: one})("")
		_, p.runs, _ = k.runPages(selvage.RunQuery{Limit: one})("")
		return p
	}
	var all []pages
	for _, side := range sides {
		all = append(all, first(side))
	}
	for i, side := range sides {
		for j, p := range all {
			ctx := k.Context()
			errs := map[string]error{
				"messages": errorOf(side.store.Messages(ctx, id, selvage.MessageQuery{Limit: one, Cursor: p.messages})),
				"changes":  errorOf(side.store.Changes(ctx, id, selvage.ChangeQuery{Limit: one, Cursor: p.changes})),
				"threads":  errorOf(side.store.Threads(ctx, selvage.ThreadQuery{Limit: one, Cursor: p.threads})),
				"runs":     errorOf(side.store.Runs(ctx, selvage.RunQuery{Limit: one, Cursor: p.runs})),
			}
			for what, err := range errs {
				if i != j {
					k.class(what+" from the cursor of another tenant", err, selvage.ErrInvalid)
				} else if err != nil {
					k.Errorf("%s from a tenant's own cursor: %v", what, err)
				}
			}
		}
	}
}

func statesDoNotCross(k *kit) {
	acme, other := k.tenant("acme"), k.tenant("other")
	id := newID()
	for _, side := range []*kit{k, acme, other} {
		side.append(id, patch(state.Set("/n", state.Int(0))), selvage.New())
	}
	for i := 1; i <= 40; i++ {
		for by, side := range []*kit{k, acme, other} {
			side.append(id, patch(state.Increment("/n", state.Int(int64(by+1)))), selvage.Exact(selvage.Version(i)))
		}
	}
	for by, side := range []*kit{k, acme, other} {
		if got, want := side.state(id, 0), fmt.Sprintf(`{"n":%d}`, 40*(by+1)); got != want {
			k.Errorf("the state of namesake %d is %s; want %s", by, got, want)
		}
	}
	acme.delete(id, selvage.DeleteReject)
	if got := other.state(id, 0); got != `{"n":120}` {
		k.Errorf("the state of a thread whose namesake was deleted is %s; want {\"n\":120}", got)
	}
}

func tenantsTakeNoTurns(k *kit) {
	id := newID()
	const tenants, each = 6, 10
	sides := make([]*kit, tenants)
	for i := range sides {
		sides[i] = k.tenant(fmt.Sprintf("tenant %d", i))
	}
	k.noErrors(together(tenants, func(i int) error {
		for v := range each {
			set := patch(state.Set("/by", state.Int(int64(i))))
			set.ID = fmt.Sprintf("set-%d", v)
			set.Messages = []selvage.Message{say(fmt.Sprintf("m-%d", v), fmt.Sprint(i))}
			if _, err := sides[i].store.Append(k.Context(), id, set, selvage.Exact(selvage.Version(v))); err != nil {
				return err
			}
		}
		return nil
	}))
	for i, side := range sides {
		side.verify(side.log(id))
		if h := side.load(id); h.Thread.Version != each || len(h.Messages) != each || h.State.String() != fmt.Sprintf(`{"by":%d}`, i) {
			k.Errorf("tenant %d's thread is at version %d with %d messages and state %s", i, h.Thread.Version, len(h.Messages), h.State)
		}
	}
}
