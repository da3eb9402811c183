package main

// postgresMutants are mistakes in the store for many machines.
func postgresMutants() []mutant {
	write := func(old, new string) []edit { return []edit{{"store/postgres/write.go", old, new}} }
	return []mutant{
		{"postgres: writes versions back blindly", write(`	w.sql.WriteString(" AND t.version = ")
	w.arg(int64(w.from.Thread.Version), "bigint")
	if w.from.Thread.Version > 0 {`, `	if w.from.Thread.Version < 0 {`), postgresPkg, "TestMemoryIsNotBelieved|TestManyWriters|TestStore/(Share|Concurrency)"},
		{"postgres: no epoch in the predicate", write("	if w.fence != nil {\n		w.sql", "	if w.fence != nil && *w.fence < 0 {\n		w.sql"),
			postgresPkg, "TestMemoryIsNotBelieved|TestStore/(Fence|Share)"},
		{"postgres: a cursor without the horizon", []edit{{"store/postgres/feed.go", "pg_snapshot_xmin(pg_current_snapshot())", "pg_snapshot_xmax(pg_current_snapshot())"}},
			postgresPkg, "TestFeedNeitherSkipsNorInverts"},
		{"postgres: an order of its own for every change", write(`SET ord = greatest(t.ord, " + place + ")")`, `SET ord = " + place)`),
			postgresPkg, "TestFeedNeitherSkipsNorInverts|TestOrderFollowsTheHead"},
		{"postgres: known messages of every tenant", []edit{{"store/postgres/lookup.go", "FROM selvage.message_ids WHERE tenant = $1::text AND thread", "FROM selvage.message_ids WHERE (tenant = $1::text OR true) AND thread"}},
			postgresPkg, "TestStore/Tenancy"},
		{"postgres: lists the threads of every tenant", []edit{{"store/postgres/threads.go", "WHERE t.tenant = $1::text AND t.born > 0", "WHERE (t.tenant = $1::text OR true) AND t.born > 0"}},
			postgresPkg, "TestStore/Tenancy"},
	}
}
