package pgtest_test

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage/internal/pgtest"
)

// TestServerOfTheEnvironment: databases are made in the server that the
// environment names, and it runs on when the tests are done with it.
func TestServerOfTheEnvironment(t *testing.T) {
	own, err := pgtest.Start(pgtest.Options{Own: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := own.Stop(); err != nil {
			t.Error(err)
		}
	})
	admin, err := own.Create("")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(pgtest.Environment, admin)
	theirs, err := pgtest.Start(pgtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	database, err := theirs.Create("")
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{os.Getenv(pgtest.Environment), database} {
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := theirs.Drop(database); err != nil {
		t.Error(err)
	}
	if err := theirs.Stop(); err != nil {
		t.Error(err)
	}
	if conn, err := pgx.Connect(t.Context(), database); err == nil {
		t.Error("a database that was dropped is still there")
		_ = conn.Close(t.Context())
	}
	if conn, err := pgx.Connect(t.Context(), admin); err != nil {
		t.Errorf("the server does not run on: %v", err)
	} else if err := conn.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
