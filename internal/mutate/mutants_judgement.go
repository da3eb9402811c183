package main

// judgementMutants are mistakes in what all stores share, seen on the one in
// memory.
func judgementMutants() []mutant {
	in := func(file, old, new, tests string) mutant {
		return mutant{edits: []edit{{file, old, new}}, pkg: memoryPkg, tests: "TestStore/" + tests}
	}
	named := func(name string, m mutant) mutant { m.name = "judgement: " + name; return m }
	return []mutant{
		named("ignores the epoch", in("store/commit/judge.go", "f.Epoch != h.Epoch", "f.Epoch > h.Epoch", "Fence")),
		named("ignores the version", in("store/commit/judge.go", "exact && want != h.Thread.Version", "exact && want > h.Thread.Version", "(Preconditions|Concurrency)")),
		named("checks the precondition before the fence", in("store/commit/judge.go", "	if f := r.Set.Fence; f != nil && f.Epoch",
			"	if exact && want != h.Thread.Version && h.Exists() && !r.Pre.IsNew() {\n		return &selvage.ConflictError{Thread: r.ThreadID, Expected: want, Actual: h.Thread.Version}\n	}\n	if f := r.Set.Fence; f != nil && f.Epoch", "Order")),
		named("recreates by Any", in("store/commit/judge.go", "case h.Deleted && !r.Pre.IsRecreate():", "case h.Deleted && !r.Pre.IsRecreate() && !r.Pre.IsAny():", "(Preconditions|Delete)")),
		named("a recreated thread starts over", in("store/commit/judge.go", "Version: h.Thread.Version, CreatedAt: at}}", "CreatedAt: at}}", "(Delete|Chain)")),
		named("patches are not tried", in("store/commit/judge.go", "			return invalid(fmt.Sprintf(\"patches[%d]\", i), \"%s\", reason)", "			_, _ = i, reason\n			return nil", "State")),
		named("keeps duplicates", in("store/commit/judge.go", "		duplicate[given[i]] = true\n", "		duplicate[given[i]] = false\n", "Dedupe")),
		named("a hash of its own for every change", in("store/commit/judge.go", "selvage.ChainHash(c.Prev, c.Version", "selvage.ChainHash(selvage.Hash{}, c.Version", "Chain")),
		named("a replay of any content", in("store/commit/request.go", "if !first.Same(&r.Set, r.Body) {", "if first == nil {", "Idempotency")),
		named("sets of any size", in("store/commit/request.go", "n > selvage.MaxSetBytes", "n > 2*selvage.MaxSetBytes", "Limits")),
		named("two open runs", in("store/commit/runs.go", "open != nil && open.ID != run.ID {", "open != nil && open.ID == \"\" {", "Runs")),
		named("ended calls stay open", in("store/commit/runs.go", "case call.Status.Terminal() && i >= 0:", "case call.Status.Terminal() && i > 1000:", "Calls")),
		named("a deleted thread keeps its lease", in("store/commit/delete.go", "	p.Next.Epoch++\n", "", "Delete")),
		named("a rewind shows what it hid", in("store/commit/history.go", "			v, next = r.To, r.Back\n", "			v, next = r.To, r.Next\n", "Rewind")),
		named("a rewind while a run is open", in("store/commit/rewind.go", "	case open != nil:\n", "	case open != nil && open.ID == \"\":\n", "Rewind")),
		named("the outbox forgets dedupe keys", in("store/commit/outbox.go", "			case known != nil:\n				continue\n", "", "Outbox")),
		named("an erased message keeps its salt", in("seal.go", "*p = PartSeal{Digest: partDigest(p.Salt, c.Messages[i])}", "*p = PartSeal{Digest: partDigest(p.Salt, c.Messages[i]), Salt: p.Salt}", "Erase")),
		named("an erased message keeps its content", in("seal.go", "		if next.Messages[i], err = skeleton(c.Messages[i]); err != nil {", "		if _, err = skeleton(c.Messages[i]); err != nil {", "Erase")),
		named("cursors are not sealed", in("cursor.go", "if err != nil || !hmac.Equal(mac, raw[:cursorMAC]) {", "if err != nil || mac == nil {", "Cursors")),
	}
}
