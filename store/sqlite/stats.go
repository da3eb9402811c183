package sqlite

// Stats are counts of what a [Store] has done since it was opened.
type Stats struct {
	Groups      int64 // transactions that were committed
	Changes     int64 // change sets and other requests in them
	Statements  int64 // statements run, reads included, checkpoints left out
	Rows        int64 // rows written
	Pages       int64 // pages of 4096 bytes written to the log
	Checkpoints int64 // copies of the log to the database
}

// Stats returns the counts so far. The page count lags while a group is being
// committed.
func (s *Store) Stats() Stats {
	return Stats{
		Groups: s.tally.groups.Load(), Changes: s.tally.changes.Load(), Statements: s.tally.statements.Load(),
		Rows: s.tally.rows.Load(), Pages: s.tally.pages.Load(), Checkpoints: s.tally.checkpoints.Load(),
	}
}
