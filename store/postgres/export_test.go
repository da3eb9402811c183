package postgres

import (
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// HotStatements are the statements that run all the time, by what they do.
func HotStatements() map[string]string {
	s := &Store{base: &base{}}
	h := newHead("")
	h.Thread.Version, h.NextSeq = 1, 1
	r := &commit.Request{Set: selvage.ChangeSet{Fence: &selvage.Fence{}}}
	w, err := s.newWrite(h, &commit.Plan{Next: commit.Head{Thread: selvage.Thread{Version: 2}},
		Change: selvage.Change{Version: 2, Rest: []byte("{}")}, MessageIDs: []string{"m"}}, r)
	if err != nil {
		panic(err) // there is nothing in it that could not be encoded
	}
	page, _ := (&threadReader{store: s}).query(threadPlace{}, 1)
	runs, _ := (&runReader{store: s, shape: runShape{Thread: "t"}}).query(nil, 1)
	return map[string]string{
		"append": w.sql.String(), "load the head": loadHead, "load the kept state": loadCache, "load the tail": loadTail,
		"load the messages": loadWindow, "fold the state": tailQuery, "threads by birth": page, "runs of a thread": runs,
		"a record": selectRecord, "records": scanForward, "records backwards": scanBackward, "write a record": upsertRecord,
		"delete records": deleteRecords, "sweep records": sweepRecords, "records of a thread": recordsOfThread,
		"the feed": feedQuery, "the end of the feed": endQuery, "events": eventsQuery, "versions": versionsQuery,
	}
}

// ForgetHorizon makes the feed show what is written whatever runs besides: a
// fault that tests have to catch.
func (s *Store) ForgetHorizon() {
	s.watch.feedQuery = strings.ReplaceAll(feedQuery, "pg_snapshot_xmin(pg_current_snapshot())::text::bigint", "(1::bigint << 47)")
	if s.watch.feedQuery == feedQuery {
		panic("the feed has no horizon of this form")
	}
}

// Forget makes the store forget what it knows of a thread.
func (s *Store) Forget(id selvage.ThreadID) { s.heads.drop(threadKey{s.tenant, id}) }

// Deafen keeps the store from looking at the database for what others write.
func (s *Store) Deafen() {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	s.watch.polling = true // says that somebody else does
}
