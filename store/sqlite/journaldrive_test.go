package sqlite_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ncruces/go-sqlite3"
	foreign "github.com/ncruces/go-sqlite3/driver"
	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"
	engine "modernc.org/sqlite"

	"github.com/selvagehq/selvage/store/sqlite"
)

// journaled is a drive that keeps a journal, and fails when it is told to. The
// SQLite on it is the one of ncruces/go-sqlite3, the same C code in another
// translation, because its files are Go. Locks and shared memory are those of
// the operating system, so that the store opens as many connections as ever.
//
// What differs from the driver that ships: the code that turns SQLite's calls
// into system calls. It is imitated where it matters, in that the first sync
// of a log that a connection opened forces its directory's entries, too.
type journaled struct {
	*journal
	name string // of the file system
	os   vfs.VFSFilename

	mu    sync.Mutex
	fault func(event) error // what happens instead of an event; nil is nothing
}

var drives atomic.Int64

// newDrive returns a drive whose directory root is there.
func newDrive(t testing.TB, root string) *journaled {
	t.Helper()
	d := &journaled{journal: newJournal(root), name: fmt.Sprintf("journal-%d", drives.Add(1)), os: vfs.Find("os").(vfs.VFSFilename)}
	vfs.Register(d.name, d)
	t.Cleanup(func() { vfs.Unregister(d.name) })
	return d
}

// options returns the options of a store on the drive.
func (d *journaled) options(o sqlite.Options) sqlite.Options {
	return o.On(d.connect, d.pool, d.sync)
}

// sync is what the store has forced to the disk without the engine.
func (d *journaled) sync(name string) error {
	if _, err := os.Stat(name); err != nil {
		return err
	}
	d.journal.mu.Lock()
	node := d.nodes[name]
	d.journal.mu.Unlock()
	if err := d.failing(event{kind: synced, node: node, name: name}); errors.Is(err, errPretend) {
		return nil
	} else if err != nil {
		return err
	}
	return d.syncDir(name)
}

// fail sets what happens instead of some events.
func (d *journaled) fail(fault func(event) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault = fault
}

func (d *journaled) failing(e event) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fault == nil {
		return nil
	}
	return d.fault(e)
}

func (d *journaled) dsn(path, query string) string {
	u := url.URL{Path: path}
	return "file:" + u.EscapedPath() + "?vfs=" + d.name + query
}

func (d *journaled) pool(path string) (*sql.DB, error) {
	return foreign.Open(d.dsn(path, "&_pragma=busy_timeout(5000)&_txlock=immediate"))
}

func (d *journaled) connect(path string) (sqlite.RawConn, error) {
	connector, err := (&foreign.SQLite{}).OpenConnector(d.dsn(path, ""))
	if err != nil {
		return nil, err
	}
	c, err := connector.Connect(context.Background())
	if err != nil {
		return nil, coded(err)
	}
	return foreignConn{c.(foreign.Conn)}, nil
}

// Open implements [vfs.VFS]; OpenFilename is called instead.
func (d *journaled) Open(string, vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	return nil, 0, sqlite3.CANTOPEN
}

func (d *journaled) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, flags, err := d.os.OpenFilename(name, flags)
	if err != nil || name == nil {
		return f, flags, err
	}
	log := flags&(vfs.OPEN_MAIN_JOURNAL|vfs.OPEN_SUPER_JOURNAL|vfs.OPEN_WAL) != 0
	return &journaledFile{File: f, d: d, name: name.String(), node: d.open(name.String()), syncDir: log && flags&vfs.OPEN_CREATE != 0}, flags, nil
}

func (d *journaled) Delete(name string, syncDir bool) error {
	err := d.os.Delete(name, false)
	if err != nil {
		return err
	}
	d.remove(name)
	if syncDir {
		return d.syncDir(filepath.Dir(name))
	}
	return nil
}

func (d *journaled) Access(name string, flags vfs.AccessFlag) (bool, error) {
	return d.os.Access(name, flags)
}

func (d *journaled) FullPathname(name string) (string, error) { return d.os.FullPathname(name) }

// journaledFile is a file of the operating system, whose writes are noted.
type journaledFile struct {
	vfs.File
	d       *journaled
	name    string
	node    int
	syncDir bool // with the next sync
}

func (f *journaledFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.d.failing(event{kind: looked, node: f.node, name: f.name, off: off}); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

func (f *journaledFile) WriteAt(p []byte, off int64) (int, error) {
	e := event{kind: written, node: f.node, name: f.name, off: off, data: slices.Clone(p)}
	if err := f.d.failing(e); err != nil {
		return 0, err
	}
	n, err := f.File.WriteAt(p, off)
	if err == nil {
		f.d.add(e)
	}
	return n, err
}

func (f *journaledFile) Truncate(size int64) error {
	e := event{kind: truncated, node: f.node, name: f.name, off: size}
	if err := f.d.failing(e); err != nil {
		return err
	}
	err := f.File.Truncate(size)
	if err == nil {
		f.d.add(e)
	}
	return err
}

// Sync notes the sync, which it need not do.
func (f *journaledFile) Sync(vfs.SyncFlag) error {
	e := event{kind: synced, node: f.node, name: f.name}
	if err := f.d.failing(e); errors.Is(err, errPretend) {
		return nil
	} else if err != nil {
		return err
	}
	f.d.add(e)
	if f.syncDir {
		f.syncDir = false
		return f.d.journal.syncDir(filepath.Dir(f.name))
	}
	return nil
}

var errPretend = errors.New("done, says the disk")

// pretendSync is the fault of a disk that says a log is written before it is.
func pretendSync(e event) error {
	if e.kind == synced && strings.HasSuffix(e.name, "-wal") {
		return errPretend
	}
	return nil
}

func (f *journaledFile) SharedMemory() vfs.SharedMemory { return vfsutil.WrapSharedMemory(f.File) }
func (f *journaledFile) LockState() vfs.LockLevel       { return vfsutil.WrapLockState(f.File) }

// foreignConn makes a connection of the other driver look like one of ours.
type foreignConn struct{ foreign.Conn }

func (c foreignConn) FileControlPersistWAL(string, int) (int, error) { return 0, errors.ErrUnsupported }

func (c foreignConn) FileControlDataVersion(name string) (uint32, error) {
	v, err := c.Raw().FileControl(name, sqlite3.FCNTL_DATA_VERSION)
	if err != nil {
		return 0, coded(err)
	}
	return v.(uint32), nil
}

func (c foreignConn) Status(op engine.DBStatusOp, reset bool) (current, high int, err error) {
	a, b, err := c.Raw().Status(sqlite3.DBStatus(op), reset)
	return int(a), int(b), coded(err)
}

func (c foreignConn) Prepare(query string) (driver.Stmt, error) {
	s, err := c.Conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, coded(err)
	}
	return foreignStmt{s}, nil
}

func (c foreignConn) Close() error { return coded(c.Conn.Close()) }

type foreignStmt struct{ driver.Stmt }

func (s foreignStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	r, err := s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
	return r, coded(err)
}

func (s foreignStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	r, err := s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		return nil, coded(err)
	}
	return foreignRows{r}, nil
}

type foreignRows struct{ driver.Rows }

// Next returns bytes that are the caller's, as our driver does.
func (r foreignRows) Next(cells []driver.Value) error {
	if err := r.Rows.Next(cells); err != nil {
		return coded(err)
	}
	for i, cell := range cells {
		if b, ok := cell.([]byte); ok {
			cells[i] = slices.Clone(b)
		}
	}
	return nil
}

func (r foreignRows) Close() error { return coded(r.Rows.Close()) }

// codedError tells its code as an error of our driver does.
type codedError struct {
	error
	code sqlite3.ExtendedErrorCode
}

func (e codedError) Code() int     { return int(e.code) }
func (e codedError) Unwrap() error { return e.error }

func coded(err error) error {
	var code sqlite3.ExtendedErrorCode
	if errors.As(err, &code) {
		return codedError{err, code}
	}
	return err
}

// survive returns the drive as the next process finds it if the one that
// worked on it is killed after the first n events, and the machine goes on:
// every write is there to be read, and what was not forced to the disk still
// is not.
func (d *journaled) survive(t testing.TB, n int) *journaled {
	t.Helper()
	next := newDrive(t, t.TempDir())
	if _, err := d.crash(n, kept, nil).write(d.root, next.root, ""); err != nil {
		t.Fatal(err)
	}
	d.journal.mu.Lock()
	defer d.journal.mu.Unlock()
	for _, e := range d.events[:n] {
		if e.name != "" {
			e.name = next.root + strings.TrimPrefix(e.name, d.root)
		}
		switch e.kind {
		case created:
			next.nodes[e.name], next.made = e.node, e.node
		case removed:
			delete(next.nodes, e.name)
		}
		next.events = append(next.events, e)
	}
	return next
}
