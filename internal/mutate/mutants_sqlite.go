package main

// sqliteMutants are mistakes in the embedded store.
func sqliteMutants() []mutant {
	return []mutant{
		{"sqlite: writes versions back blindly", []edit{
			{"store/sqlite/head.go", "WHERE key = ? AND version = ? AND epoch = ?", "WHERE key = ? AND (version = ? OR true) AND (epoch = ? OR true)"},
			{"store/sqlite/txn.go", "	if version != t.w.version {\n		t.w.forget()\n	}\n", ""},
		}, sqlitePkg, "TestEightProcesses|TestStore/Share"},
		{"sqlite: trusts its cache whoever wrote", []edit{{"store/sqlite/txn.go", "	if version != t.w.version {\n		t.w.forget()\n	}\n", ""}},
			sqlitePkg, "TestEightProcesses|TestStore/Share"},
		{"sqlite: lists the threads of every tenant", []edit{{"store/sqlite/threads.go", "FROM threads WHERE tenant = ? AND born", "FROM threads WHERE (tenant = ? OR true) AND born"}},
			sqlitePkg, "TestStore/Tenancy"},
		{"sqlite: lists the runs of every tenant", []edit{{"store/sqlite/runs.go", "ON t.key = r.thread WHERE r.tenant = ?", "ON t.key = r.thread WHERE (r.tenant = ? OR true)"}},
			sqlitePkg, "TestStore/Tenancy"},
		{"sqlite: renews a lease without its token", []edit{{"store/sqlite/lease.go",
			"SET lease_until = ? WHERE tenant = ? AND id = ? AND epoch = ? AND lease_token = ?",
			"SET lease_until = ? WHERE tenant = ? AND id = ? AND epoch = ? AND (lease_token = ? OR true)"}}, sqlitePkg, "TestStore/Lease"},
		{"sqlite: a lease is taken from who holds it", []edit{{"store/sqlite/lease.go", "if l.Until.After(t.now) && l.Epoch != dead {", "if l.Until.After(t.now) && l.Epoch < dead {"}},
			sqlitePkg, "TestStore/Lease"},
		{"sqlite: serves bytes it did not prove", []edit{{"store/sqlite/feed.go", "!= ch.Hash {\n		return selvage.Change{}, corrupt(p.id", "!= ch.Hash && false {\n		return selvage.Change{}, corrupt(p.id"}},
			sqlitePkg, "TestDamageShows"},
	}
}
