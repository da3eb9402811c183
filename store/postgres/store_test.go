package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/pgtest"
	"github.com/selvagehq/selvage/store/postgres"
	"github.com/selvagehq/selvage/store/storetest"
)

// cluster is the server that the tests share, and template a database on it.
var (
	cluster     *pgtest.Cluster
	template    string
	templateURL string
)

func TestMain(m *testing.M) {
	var err error
	if cluster, err = pgtest.Start(pgtest.Options{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := 1
	if template, err = newTemplate(); err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, err)
	}
	for _, url := range append(recycled.urls, templateURL) {
		err = errors.Join(err, cluster.Drop(url))
	}
	if err := errors.Join(err, cluster.Stop()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// newTemplate makes a database in which a store was opened, of which the others
// are copies, and returns its name.
func newTemplate() (string, error) {
	url, err := cluster.Create("")
	if err != nil {
		return "", err
	}
	templateURL = url
	s, err := postgres.Open(context.Background(), url, postgres.Options{})
	if err != nil {
		return "", err
	}
	return pgtest.Name(url), s.Close()
}

// open opens a store; the test closes it if nobody else does.
func open(t testing.TB, url string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), url, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // a test may have closed it already
	return s
}

// database returns the URL of a database of the test's own, in which there are
// no threads yet. It is one that another test has done with, if there is any:
// emptying takes less time than making.
func database(t testing.TB) string {
	t.Helper()
	url := recycled.take()
	if url == "" {
		var err error
		if url, err = cluster.Create(template); err != nil {
			t.Fatal(err)
		}
	}
	// A copy is not another store, but the tests need one.
	execIn(t, url, `UPDATE selvage.meta SET value = sha256(uuid_send(gen_random_uuid())) WHERE key = 'cursor_key'`)
	t.Cleanup(func() {
		execIn(t, url, `TRUNCATE selvage.threads, selvage.changes, selvage.message_ids, selvage.runs, selvage.calls, selvage.state_cache, selvage.outbox, selvage.blobs, selvage.blob_chunks, selvage.blob_refs, selvage.records`)
		recycled.give(url)
	})
	return url
}

// recycled are the databases that nobody uses now.
var recycled databases

type databases struct {
	mu   sync.Mutex // guards urls
	urls []string
}

func (d *databases) take() (url string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.urls); n > 0 {
		url, d.urls = d.urls[n-1], d.urls[:n-1]
	}
	return url
}

func (d *databases) give(url string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.urls = append(d.urls, url)
}

// with adds an option to a URL.
func with(url, option string) string {
	switch {
	case option == "":
		return url
	case strings.Contains(url, "?"):
		return url + "&" + option
	}
	return url + "?" + option
}

// config is of stores at addresses that are made of the URLs of databases. Those
// that are opened once more are given further options.
func config(address func(t *testing.T, url string) string, again string) storetest.Config {
	var mu sync.Mutex // guards at
	at := make(map[selvage.Store]string)
	opened := func(t *testing.T, url string) selvage.Store {
		s := open(t, url)
		mu.Lock()
		defer mu.Unlock()
		at[s] = url
		return s
	}
	reopened := func(t *testing.T, first selvage.Store) selvage.Store {
		mu.Lock()
		url := with(at[first], again)
		mu.Unlock()
		return opened(t, url)
	}
	return storetest.Config{
		New: func(t *testing.T) selvage.Store { return opened(t, address(t, database(t))) },
		Reopen: func(t *testing.T, old selvage.Store) selvage.Store {
			if err := old.Close(); err != nil {
				t.Fatal(err)
			}
			return reopened(t, old)
		},
		Share: reopened,
	}
}

// direct is the address of the database itself, with further options.
func direct(options string) func(*testing.T, string) string {
	return func(_ *testing.T, url string) string { return with(url, options) }
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, config(direct("pool_max_conns=8"), ""))
}
