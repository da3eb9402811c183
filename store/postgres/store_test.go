package postgres_test

import (
	"context"
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
	cluster  *pgtest.Cluster
	template string
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
	if err := cluster.Stop(); err != nil {
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
// no threads yet.
func database(t testing.TB) string {
	t.Helper()
	url := cluster.Database(t, template)
	// A copy is not another store, but the tests need one.
	execIn(t, url, `UPDATE selvage.meta SET value = sha256(uuid_send(gen_random_uuid())) WHERE key = 'cursor_key'`)
	return url
}

// with adds an option to a URL.
func with(url, option string) string {
	if strings.Contains(url, "?") {
		return url + "&" + option
	}
	return url + "?" + option
}

// conform runs the kit on stores whose URLs have further options.
func conform(t *testing.T, option string) {
	var mu sync.Mutex // guards urls
	urls := make(map[selvage.Store]string)
	opened := func(t *testing.T, url string) selvage.Store {
		s := open(t, url)
		mu.Lock()
		defer mu.Unlock()
		urls[s] = url
		return s
	}
	urlOf := func(s selvage.Store) string {
		mu.Lock()
		defer mu.Unlock()
		return urls[s]
	}
	storetest.Run(t, storetest.Config{
		New: func(t *testing.T) selvage.Store { return opened(t, with(database(t), option)) },
		Reopen: func(t *testing.T, old selvage.Store) selvage.Store {
			if err := old.Close(); err != nil {
				t.Fatal(err)
			}
			return opened(t, urlOf(old))
		},
		Share: func(t *testing.T, first selvage.Store) selvage.Store { return opened(t, urlOf(first)) },
	})
}

func TestStore(t *testing.T) {
	t.Parallel()
	conform(t, "pool_max_conns=8")
}
