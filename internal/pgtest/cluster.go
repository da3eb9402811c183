package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Environment names the variable that holds the URL of a server to use. Its
// user must be allowed to create databases.
const Environment = "SELVAGE_TEST_POSTGRES"

// Options configures [Start].
type Options struct {
	// Durable makes the server force its log to the disk, for measurements
	// and for tests of durability. Without it a crash of the machine would
	// damage the databases; one of the server does not.
	Durable bool
	// Own starts a server even if the environment names one, for tests that
	// stop it.
	Own bool
	// Settings are further lines of postgresql.conf.
	Settings []string
	// Access are lines of pg_hba.conf, ahead of those that let everybody in.
	Access []string
}

// Cluster is a PostgreSQL server.
type Cluster struct {
	admin string // URL of a database that always exists
	dir   string // "" if the server is not ours
	bin   string
	as    *syscall.Credential // who runs it; nil: whoever runs the test
}

// Start returns a server that runs. Who started it stops it.
func Start(opts Options) (*Cluster, error) {
	if admin := os.Getenv(Environment); admin != "" && !opts.Own {
		return &Cluster{admin: admin}, nil
	}
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	c := &Cluster{bin: bin}
	if err := c.create(opts); err != nil {
		return nil, errors.Join(fmt.Errorf("start a PostgreSQL server: %w", err), c.Stop())
	}
	return c, nil
}

// create makes a data directory and starts a server on it.
func (c *Cluster) create(opts Options) (err error) {
	if c.dir, err = os.MkdirTemp(home(opts), "pgtest-"); err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		if err := c.giveAway(); err != nil {
			return err
		}
	}
	c.admin = c.url("postgres")
	if err := c.run("initdb", "-D", c.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"); err != nil {
		return err
	}
	settings := []string{"listen_addresses = ''", "unix_socket_directories = '" + c.dir + "'", "max_connections = 600",
		"shared_buffers = 128MB", "autovacuum_naptime = 10s", "log_min_messages = fatal"}
	if opts.Durable {
		settings = append(settings, "max_wal_size = 4GB")
	} else {
		settings = append(settings, "fsync = off", "full_page_writes = off", "wal_level = minimal", "max_wal_senders = 0", "max_wal_size = 256MB")
	}
	settings = append(settings, opts.Settings...)
	f, err := os.OpenFile(filepath.Join(c.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("\n" + strings.Join(settings, "\n") + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := c.restrict(opts.Access); err != nil {
		return err
	}
	if err := c.start(); err != nil {
		return err
	}
	return c.isOurs()
}

// restrict puts lines at the beginning of the file that says who is let in.
func (c *Cluster) restrict(lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	path := filepath.Join(c.data(), "pg_hba.conf")
	rest, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"+string(rest)), 0o600)
}

// memory is a file system that is not on a disk, and roomy how much of it must
// be free for a server to live there, in bytes.
const (
	memory = "/dev/shm"
	roomy  = 8 << 30
)

// home is where a server's directory is made: in memory if it need not last,
// where there is room. "" stands for the usual place.
func home(opts Options) string {
	var fs syscall.Statfs_t
	if opts.Durable || syscall.Statfs(memory, &fs) != nil || fs.Bavail*uint64(fs.Bsize) < roomy {
		return ""
	}
	return memory
}

// giveAway hands the directory to the user postgres, because the server does
// not run as root.
func (c *Cluster) giveAway() error {
	u, err := user.Lookup("postgres")
	if err != nil {
		return err
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return err
	}
	c.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(c.dir, uid, gid)
}

// isOurs makes sure that what answers is the server that was started.
func (c *Cluster) isOurs() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.admin)
	if err != nil {
		return err
	}
	var dir string
	err = conn.QueryRow(ctx, "SHOW data_directory").Scan(&dir)
	if err := errors.Join(err, conn.Close(ctx)); err != nil {
		return err
	}
	if dir != c.data() {
		return fmt.Errorf("a server on %s answered instead of the one on %s", dir, c.data())
	}
	return nil
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

// url is the URL of a database of a server of our own.
func (c *Cluster) url(database string) string {
	return "postgres:///" + database + "?host=" + url.QueryEscape(c.dir) + "&user=postgres"
}

func (c *Cluster) start() error {
	return c.run("pg_ctl", "-D", c.data(), "-l", filepath.Join(c.dir, "log"), "-w", "-t", "60", "start")
}

// Stop ends the server, if it is ours, and removes what it left.
func (c *Cluster) Stop() error {
	if c.dir == "" {
		return nil
	}
	var err error
	if _, statErr := os.Stat(filepath.Join(c.data(), "postmaster.pid")); statErr == nil {
		err = c.run("pg_ctl", "-D", c.data(), "-m", "immediate", "-w", "stop")
	}
	return errors.Join(err, os.RemoveAll(c.dir))
}
