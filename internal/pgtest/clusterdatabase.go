package pgtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// run runs one of the server's programs.
func (c *Cluster) run(name string, args ...string) error {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.as}
	// To a file and not to a pipe, which the server that stays would keep open.
	out, err := os.CreateTemp(c.dir, "out-")
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = out, out
	err = cmd.Run()
	if err != nil {
		said, _ := os.ReadFile(out.Name()) // what it says only helps
		err = fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(said)))
	}
	return errors.Join(err, out.Close())
}

// Database creates a database that is dropped when the test ends, and returns
// its URL. It is a copy of the database template, to which nobody may be
// connected, or empty if that is "".
func (c *Cluster) Database(tb testing.TB, template string) string {
	tb.Helper()
	u, err := c.Create(template)
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	tb.Cleanup(func() { c.Exec(tb, "DROP DATABASE "+Name(u)+" WITH (FORCE)") })
	return u
}

// Create is Database for what is to last until the server stops. On a server
// of somebody else's it stays.
func (c *Cluster) Create(template string) (string, error) {
	name := fmt.Sprintf("selvage_test_%x", rand.Uint64())
	create := "CREATE DATABASE " + name
	if template != "" {
		create += " TEMPLATE " + template
	}
	if err := c.exec(create); err != nil {
		return "", err
	}
	u, err := url.Parse(c.admin)
	if err != nil {
		return "", fmt.Errorf("the URL in %s cannot be read", Environment)
	}
	u.Path = "/" + name
	return u.String(), nil
}

// Name is the name of the database of a URL.
func Name(database string) string {
	u, err := url.Parse(database)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.Path, "/")
}

// Exec runs a statement outside the databases of the tests.
func (c *Cluster) Exec(tb testing.TB, sql string) {
	tb.Helper()
	if err := c.exec(sql); err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
}

func (c *Cluster) exec(sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.admin)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	if _, err = conn.Exec(ctx, sql); err != nil {
		err = fmt.Errorf("%s: %w", sql, err)
	}
	return errors.Join(err, conn.Close(ctx))
}

// Drop drops a database that [Cluster.Create] made.
func (c *Cluster) Drop(database string) error {
	return c.exec("DROP DATABASE IF EXISTS " + Name(database) + " WITH (FORCE)")
}
