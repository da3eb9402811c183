package main

// memoryMutants are mistakes in the store in memory.
func memoryMutants() []mutant {
	in := func(name, file, old, new, tests string) mutant {
		return mutant{"memory: " + name, []edit{{"store/inmem/" + file, old, new}}, memoryPkg, "TestStore/" + tests}
	}
	return []mutant{
		in("dedupes within a window", "append.go", "		_, known[i] = r.thread.ids[id]\n",
			"		for _, m := range r.thread.messages[max(0, len(r.thread.messages)-50):] {\n			known[i] = known[i] || m.ID == id\n		}\n", "Dedupe"),
		in("acknowledges and does not write", "append.go", "	s.write(w)\n	return w.plan.Receipt, nil", "	if len(w.plan.Change.Messages) != 1 {\n		s.write(w)\n	}\n	return w.plan.Receipt, nil", "(Append|Concurrency)"),
		in("checks ids before it locks", "append.go", "		if i, known := t.changes[request.Set.ID]; known {", "		if i, known := t.changes[request.Set.ID]; known && i > 0 {", "Idempotency"),
		in("shares what it keeps", "threads.go", "return cloneThread(t.head.Thread)", "return t.head.Thread", "Aliasing"),
		in("lists deleted threads", "threads.go", "if !t.head.Exists() || !q.Parent", "if !q.Parent", "(Threads|Delete|Sequences)"),
		in("a filter that selects everything", "threads.go", "|| q.UserID != \"\" && q.UserID != v.UserID {", "{", "Threads"),
		in("keeps the runs of deleted threads", "delete.go", "	maps.DeleteFunc(s.runs, func(_ selvage.RunID, row *runRow) bool { return row.run.ThreadID == id })\n", "", "Delete"),
		in("cascades one level", "delete.go", "		for i := 0; i < len(doomed); i++ {", "		for i := 0; i < 1; i++ {", "Delete"),
		in("a new holder keeps the epoch", "lease.go", "	t.head.Epoch++\n", "	if t.head.Epoch == 0 {\n		t.head.Epoch++\n	}\n", "(Lease|Fence)"),
		in("anybody releases a lease", "lease.go", "|| t.lease.Epoch != l.Epoch || t.lease.Token != l.Token {", "{", "Lease"),
		in("works after Close", "store.go", "	if s.closed || s.left {", "	if s.left {", "Close"),
		in("works for who has left", "store.go", "	return ctx.Err()\n", "	_ = ctx\n	return nil\n", "Close"),
		in("the feed shows every tenant", "watch.go", "	if s.tenant == \"\" || s.tenant == p.tenant {", "	if s.tenant == \"\" || s.tenant != \"\" {", "(Watcher|Tenancy)"),
		in("the feed repeats its last change", "feed.go", "	if found {\n		i++\n	}\n", "	_ = found\n", "Watcher"),
		in("nobody is woken", "feed.go", "	s.bells.Ring(key, feedBell)\n", "", "Watcher/AppendEndsTheWait"),
		in("a delivery is claimed twice", "outbox.go", " && !d.due.After(now)\n", "\n", "Outbox"),
		in("anybody acknowledges a delivery", "outbox.go", "if d.Token == \"\" || row.token != d.Token {", "if d.Token == \"-\" {", "Outbox"),
	}
}
