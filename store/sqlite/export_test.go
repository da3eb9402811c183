package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"

	engine "modernc.org/sqlite"

	"github.com/selvagehq/selvage/state"
)

// The doors that tests have into the store.

const (
	AfterBegin      = afterBegin
	BeforeCommit    = beforeCommit
	AfterCommit     = afterCommit
	MarkEvery       = markEvery
	SparseEvery     = sparseEvery
	TailChanges     = tailChanges
	CheckpointAfter = checkpointAfter
	SchemaVersion   = schemaVersion
)

type Moment = moment

// RawConn is what a connection of a drive has to offer.
type RawConn = rawConn

// On has the database kept on another drive.
func (o Options) On(connect func(path string) (RawConn, error), pool func(path string) (*sql.DB, error), sync func(name string) error) Options {
	o.drive = &drive{connect, pool, sync}
	return o
}

// Probe has f called at the moments of the writer's work.
func (s *Store) Probe(f func(Moment) error) {
	s.AtTurn(func() { s.probe = f })
}

// AtTurn calls f while nobody else writes.
func (s *Store) AtTurn(f func()) {
	s.writer.turn <- struct{}{}
	defer func() { <-s.writer.turn }()
	f()
}

// Hold takes the turn until the func it returns is called.
func (s *Store) Hold() (release func()) {
	s.writer.turn <- struct{}{}
	return func() { <-s.writer.turn }
}

// Waiting is how many requests are queued.
func (s *Store) Waiting() int {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	return len(s.writer.queue)
}

// Fault is what an error of the engine becomes.
func (s *Store) Fault(err error) error { return s.fault(err) }

// Exec runs a statement on the writer's connection.
func (s *Store) Exec(query string, args ...driver.Value) (n int64, err error) {
	s.AtTurn(func() { n, err = s.writer.conn.exec(query, args...) })
	return n, err
}

// Ask runs a query and returns its rows as the driver gives them.
func (s *Store) Ask(query string, args ...driver.Value) (out [][]any, err error) {
	err = s.read(context.Background(), func(c *conn) error {
		r, err := c.query(query, args...)
		if err != nil {
			return err
		}
		for r.next() {
			row := make([]any, len(r.cells))
			for i, cell := range r.cells {
				row[i] = cell
			}
			out = append(out, row)
		}
		return r.close()
	})
	return out, err
}

// RestNow does the chores that wait for a quiet moment.
func (s *Store) RestNow() { s.AtTurn(s.writer.chores.rest) }

// PagesRead is how many pages the readers that rest have looked at.
func (s *Store) PagesRead() (n int) {
	for range len(s.readers.idle) {
		c := <-s.readers.idle
		for _, op := range []engine.DBStatusOp{engine.DBStatusCacheHit, engine.DBStatusCacheMiss} {
			pages, _, err := c.raw.Status(op, false)
			if err != nil {
				panic(err)
			}
			n += pages
		}
		s.readers.idle <- c
	}
	return n
}

// AnswerEarly has the writer tell the members of a group that they are done
// before it commits, but for the one who commits: a fault that tests have to
// catch. It gives them time to believe it.
func (s *Store) AnswerEarly() {
	s.Probe(func(m Moment) error {
		if m != BeforeCommit || len(s.writer.group) < 2 {
			return nil
		}
		group := s.writer.group
		for i, r := range group {
			if r != nil && s.writer.errs[i] == nil {
				group[i] = &request{done: make(chan struct{})} // which nobody waits for
				r.answer(nil)
			}
		}
		// They are back when they want more; the leader is not.
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for range 1000 {
			<-tick.C
			if s.Waiting() >= len(group)-1 {
				break
			}
		}
		return nil
	})
}

// Forget empties the cache, as a process finds it that has just started.
func (s *Store) Forget() {
	s.AtTurn(func() { s.cache = newCache(s.opts.CacheBytes) })
}

// Queries are the statements of the hot path, by name.
func Queries() map[string]string {
	q := runShape{Thread: "t", Order: "desc"}
	runs, _ := q.query(1)
	return map[string]string{
		"head": selectHead, "head by key": headByKey, "id": selectID, "change": selectChange, "update head": updateHead,
		"update work": updateWork, "update all": updateAll, "walk back": walkBack, "walk messages": walkMessages,
		"walk state": walkState, "mark of version": markOfVersion, "mark of seq": markOfSeq, "hash": hashAt, "document": selectDoc,
		"old documents": selectOld, "run": selectRun, "call": selectCall, "lease": selectLease, "claim": claimLease, "renew": renewLease,
		"release": dropLease, "runs of a thread": runs, "delete id": deleteID, "delete document": deleteDoc,
		"record": selectRecord, "records": scanForward, "records backwards": scanBackward,
		"delete records": deleteRecords, "sweep records": sweepRecords, "records of a thread": recordsOfThread,
		"last position": lastPosition, "feed": placesAfter, "place": placeAt, "last place": lastPlace, "news": newsAfter,
	}
}

// IDKey, PackMessages and UnpackMessages are the forms of columns, Locate and
// SyncDir what Open does about its path.
var (
	IDKey          = idKey
	PackMessages   = packMessages
	UnpackMessages = unpackMessages
	ParseUUID      = parseUUID
	Locate         = locate
	SyncDir        = syncDisk
)

// DocDigest is the digest of a cached document.
func DocDigest(hash []byte, doc state.Document) [32]byte { return docDigest(hash, doc.AppendJSON(nil)) }

// Pragma asks the writer's connection for a setting. It is called at turn.
func (s *Store) Pragma(name string) (value any) {
	_, err := s.writer.conn.one(func(r *rows) { value = r.cells[0] }, "PRAGMA "+name)
	if err != nil {
		return err
	}
	return value
}

// Params is how many parameters a statement has.
func (s *Store) Params(query string) (n int) {
	s.AtTurn(func() {
		st, err := s.writer.conn.raw.Prepare(query)
		if err != nil {
			panic(err)
		}
		defer st.Close()
		for n = 0; n < 64; n++ {
			args := make([]driver.NamedValue, n)
			for i := range args {
				args[i] = driver.NamedValue{Ordinal: i + 1, Value: int64(-1)}
			}
			r, err := s.writer.conn.raw.(driver.QueryerContext).QueryContext(context.Background(), "EXPLAIN "+query, args)
			if err == nil {
				r.Close()
				return
			}
		}
	})
	return n
}

// PollerGone waits until the poller has gone, because nobody waits any more.
func (s *Store) PollerGone() { s.watch.work.Wait() }

// Polling reports whether the file is looked at for what others write.
func (s *Store) Polling() bool {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	return s.watch.polling
}

// HoldReader reads the state of the file, and holds on to it until the func it
// returns is called.
func (s *Store) HoldReader(t interface{ Error(...any) }) (release func()) {
	begun, end, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		err := s.read(context.Background(), func(c *conn) error {
			_, err := c.one(func(*rows) {}, "SELECT count(*) FROM changes")
			close(begun)
			<-end
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}()
	<-begun
	return func() { close(end); <-done }
}

// Deafen keeps the store from looking at the file for what others write.
func (s *Store) Deafen() {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	s.watch.polling = true // says that somebody else does
}
