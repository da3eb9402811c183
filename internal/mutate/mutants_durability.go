package main

const (
	sqlitePkg   = "./store/sqlite"
	postgresPkg = "./store/postgres"
	memoryPkg   = "./store/inmem"
)

// durabilityMutants break what an acknowledged append survives.
func durabilityMutants() []mutant {
	writer := func(old, new string) []edit { return []edit{{"store/sqlite/writer.go", old, new}} }
	log := func(old, new string) []edit { return []edit{{"store/sqlite/log.go", old, new}} }
	return []mutant{
		{"sqlite: acknowledges before it commits", writer("	err := w.end()\n", `	for i, r := range group {
		if w.errs[i] == nil {
			r.answer(nil)
			group[i] = &request{done: make(chan struct{})}
		}
	}
	err := w.end()
`), sqlitePkg, "TestPowerLoss$|TestKill$"},
		{"sqlite: acknowledges what it could not commit", writer("		return w.store.unknown(err)\n	}\n	return nil", "		return nil\n	}\n	return nil"),
			sqlitePkg, "TestFailedSync|TestFullDisk"},
		{"sqlite: NORMAL sold as FULL", []edit{{"store/sqlite/options.go", `return "FULL"`, `return "NORMAL"`}}, sqlitePkg, "TestPowerLoss$"},
		{"sqlite: OFF sold as FULL", []edit{{"store/sqlite/options.go", `return "FULL"`, `return "OFF"`}}, sqlitePkg, "TestPowerLoss$"},
		{"sqlite: new directories are not synced", []edit{{"store/sqlite/path.go", "range changed {", "range changed[:0] {"}},
			sqlitePkg, "TestPowerLoss$"},
		{"sqlite: only the file's own directory is synced", []edit{{"store/sqlite/path.go", "range changed {", "range changed[:1] {"}},
			sqlitePkg, "TestPowerLoss$"},
		{"sqlite: what a killed process left counts as written", log("	if s.opts.Durability != Durable {", "	if s.path != \"\" {"),
			sqlitePkg, "TestReplayAfterKill"},
		{"sqlite: a sync that failed is made good by the next", log("wal_checkpoint(TRUNCATE)", "wal_checkpoint(NOOP)"),
			sqlitePkg, "TestFailedSync"},
	}
}
