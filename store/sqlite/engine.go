package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"sync/atomic"

	"modernc.org/sqlite"
)

// This file alone names the driver. It is used below database/sql, whose pool
// and conversions would cost an append more than its statements do.

// drive is what a database is kept on. Tests put one under the store that
// keeps a journal of what reaches the disk, and fails when it is told to.
type drive struct {
	connect func(path string) (rawConn, error) // the file is created if there is none
	pool    func(path string) (*sql.DB, error) // for a tool that wants database/sql; a busy database is waited for
	sync    func(name string) error            // forces a directory's entries, or a file, to the disk
}

// disk is the drive of every database outside tests.
func disk() *drive { return &drive{connectDisk, poolDisk, syncDisk} }

// rawConn is what a connection of the driver has to offer.
type rawConn interface {
	driver.Conn
	sqlite.FileControl
	sqlite.DBStatus
}

// rawStmt is what a prepared statement of the driver has to offer.
type rawStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// tally counts what connections did, for [Store.Stats].
type tally struct {
	groups, changes, statements, rows, pages, checkpoints atomic.Int64
}

// conn is a connection with its prepared statements. It belongs to one
// goroutine at a time.
type conn struct {
	raw   rawConn
	kept  map[string]*stmt
	tally *tally // nil while nothing is to be counted
	pages int    // the driver's count of pages written, as of the last look
}

// stmt is a prepared statement and the room its arguments and rows need.
type stmt struct {
	raw  rawStmt
	args []driver.NamedValue
	rows rows
}

// connect opens a connection to the database file.
func (s *Store) connect() (*conn, error) {
	raw, err := s.opts.drive.connect(s.path)
	if err != nil {
		return nil, err
	}
	return &conn{raw: raw, kept: make(map[string]*stmt), tally: &s.tally}, nil
}

func connectDisk(path string) (rawConn, error) {
	connector, err := sqlite.NewConnector(dsn(path))
	if err != nil {
		return nil, err
	}
	opened, err := connector.Connect(background())
	if err != nil {
		return nil, err
	}
	raw, ok := opened.(rawConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the driver's %T lacks what this package needs", opened), opened.Close())
	}
	return raw, nil
}

func poolDisk(path string) (*sql.DB, error) {
	connector, err := sqlite.NewConnector(dsn(path) + "?_pragma=busy_timeout(5000)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// dsn names a file so that no character of its path is taken for a parameter.
func dsn(path string) string {
	u := url.URL{Path: path}
	return "file:" + u.EscapedPath()
}

// background is the context of every statement. A statement is not cancelled
// in its middle, because its transaction also belongs to others; what a caller
// can leave is the queue before it, and the rows after it.
func background() context.Context { return context.Background() }

// sqliteCode returns the primary result code of an error, or 0.
func sqliteCode(err error) int { return extendedCode(err) & 0xff }

// extendedCode is the result code of the engine that says more, or 0.
func extendedCode(err error) int {
	var e interface {
		error
		Code() int
	}
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code()
}

// close ends the connection. What is open in it is rolled back.
func (c *conn) close() error {
	var errs []error
	for _, s := range c.kept {
		errs = append(errs, s.raw.Close())
	}
	c.kept = nil
	return errors.Join(append(errs, c.raw.Close())...)
}

// prepare returns the statement for a query, which is kept.
func (c *conn) prepare(query string) (*stmt, error) {
	if s := c.kept[query]; s != nil {
		return s, nil
	}
	prepared, err := c.raw.Prepare(query)
	if err != nil {
		return nil, err // whose text leaves the statement out, which says nothing to a user
	}
	raw, ok := prepared.(rawStmt)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the driver's %T lacks what this package needs", prepared), prepared.Close())
	}
	s := &stmt{raw: raw}
	c.kept[query] = s
	return s, nil
}

func (c *conn) count() {
	if c.tally != nil {
		c.tally.statements.Add(1)
	}
}

// bind puts the arguments where the driver wants them.
func (s *stmt) bind(args []driver.Value) []driver.NamedValue {
	for len(s.args) < len(args) {
		s.args = append(s.args, driver.NamedValue{Ordinal: len(s.args) + 1})
	}
	for i, a := range args {
		s.args[i].Value = a
	}
	return s.args[:len(args)]
}

// exec runs a statement and returns how many rows it wrote.
func (c *conn) exec(query string, args ...driver.Value) (int64, error) {
	n, _, err := c.insert(query, args...)
	return n, err
}

// run runs a statement once, and does not keep it.
func (c *conn) run(query string) error {
	defer delete(c.kept, query)
	s, err := c.prepare(query)
	if err != nil {
		return err
	}
	_, err = s.raw.ExecContext(background(), nil)
	return errors.Join(err, s.raw.Close())
}

// insert runs a statement and returns how many rows it wrote and the rowid of
// the last one inserted.
func (c *conn) insert(query string, args ...driver.Value) (n, id int64, err error) {
	s, err := c.prepare(query)
	if err != nil {
		return 0, 0, err
	}
	c.count()
	result, err := s.raw.ExecContext(background(), s.bind(args))
	if err != nil {
		return 0, 0, err
	}
	if n, err = result.RowsAffected(); err != nil {
		return 0, 0, err
	}
	if id, err = result.LastInsertId(); err != nil {
		return 0, 0, err
	}
	return n, id, nil
}

// query runs a statement that answers rows. A statement answers one query at
// a time: close its rows before running it again.
func (c *conn) query(query string, args ...driver.Value) (*rows, error) {
	s, err := c.prepare(query)
	if err != nil {
		return nil, err
	}
	c.count()
	raw, err := s.raw.QueryContext(background(), s.bind(args))
	if err != nil {
		return nil, err
	}
	r := &s.rows
	r.raw, r.err = raw, nil
	if n := len(raw.Columns()); len(r.cells) != n {
		r.cells = make([]driver.Value, n)
	}
	return r, nil
}

// one runs a query for a single row and reads it. It reports whether there
// was one.
func (c *conn) one(read func(*rows), query string, args ...driver.Value) (bool, error) {
	r, err := c.query(query, args...)
	if err != nil {
		return false, err
	}
	found := r.next()
	if found {
		read(r)
	}
	return found, r.close()
}

// dataVersion is a number that changes with every change of the file, whoever
// made it.
func (c *conn) dataVersion() (uint32, error) { return c.raw.FileControlDataVersion("main") }

// pagesWritten is how many pages were written since it was last asked.
func (c *conn) pagesWritten() (int, error) {
	pages, _, err := c.raw.Status(sqlite.DBStatusCacheWrite, false)
	if err != nil {
		return 0, err
	}
	n := pages - c.pages
	c.pages = pages
	return n, nil
}

// rows are the rows a query answers, one at a time.
type rows struct {
	raw   driver.Rows
	cells []driver.Value
	err   error
}

// next moves to the next row and reports whether there is one.
func (r *rows) next() bool {
	if r.err != nil {
		return false
	}
	if err := r.raw.Next(r.cells); err != nil {
		if !errors.Is(err, io.EOF) {
			r.err = err
		}
		return false
	}
	return true
}

// close ends the query and returns what went wrong in it.
func (r *rows) close() error {
	err := r.raw.Close()
	if r.err != nil {
		err = r.err
	}
	clear(r.cells)
	return err
}

// The columns of the present row. One that is NULL, or of another type, is
// zero: columns are typed by the schema.

func (r *rows) null(i int) bool { return r.cells[i] == nil }

func (r *rows) int(i int) int64 {
	n, _ := r.cells[i].(int64)
	return n
}

func (r *rows) text(i int) string {
	s, _ := r.cells[i].(string)
	return s
}

// blob returns bytes that are the caller's.
func (r *rows) blob(i int) []byte {
	b, _ := r.cells[i].([]byte)
	return b
}
