package cli_test

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/selvagehq/selvage/internal/pgtest"
)

// knownPassword is that of the user ann, the only one who needs a password.
const knownPassword = "hunter2"

// TestPostgresScript runs the scripts about a store on a server. The server is
// its own, because it asks for passwords.
func TestPostgresScript(t *testing.T) {
	t.Parallel()
	server, err := pgtest.Start(pgtest.Options{Own: true, Access: []string{"local all ann scram-sha-256"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	server.Exec(t, "CREATE ROLE ann LOGIN PASSWORD '"+knownPassword+"'")
	t.Run("scripts", func(t *testing.T) {
		testscript.Run(t, testscript.Params{
			Dir: filepath.Join("testdata", "postgres"),
			Setup: func(env *testscript.Env) error {
				if err := isolate(env); err != nil {
					return err
				}
				database, err := server.Create("")
				if err != nil {
					return err
				}
				env.Setenv("STORE", database)
				for name, change := range map[string]func(u *url.URL, q url.Values){
					"ANN":      func(_ *url.URL, q url.Values) { q.Set("user", "ann"); q.Set("password", knownPassword) },
					"IMPOSTOR": func(_ *url.URL, q url.Values) { q.Set("user", "ann"); q.Set("password", "sesame") },
					"NOWHERE":  func(_ *url.URL, q url.Values) { q.Set("host", filepath.Join(env.WorkDir, "nowhere")) },
					"MISSING":  func(u *url.URL, _ url.Values) { u.Path = "/nosuch" },
				} {
					at, err := altered(database, change)
					if err != nil {
						return err
					}
					env.Setenv(name, at)
				}
				return nil
			},
			Cmds: map[string]func(*testscript.TestScript, bool, []string){
				"code":  codeCommand,
				"json":  jsonCommand,
				"await": awaitCommand,
				"sql":   sqlCommand,

				"databases": databasesCommand,
			},
			RequireExplicitExec: true,
			UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		})
	})
}

// altered is a URL with something changed.
func altered(raw string, change func(*url.URL, url.Values)) (string, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", err
	}
	q := u.Query()
	change(u, q)
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// sqlCommand runs a statement behind the store's back: sql URL STATEMENT.
func sqlCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sql URL STATEMENT")
	}
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, args[0])
	ts.Check(err)
	_, err = conn.Exec(ctx, args[1])
	ts.Check(err)
	ts.Check(conn.Close(ctx))
}
