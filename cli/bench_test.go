package cli_test

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"
)

// databasesCommand waits until a server has so many databases that bench made:
// databases URL N.
func databasesCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: databases URL N")
	}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, args[0])
	ts.Check(err)
	defer func() { _ = conn.Close(context.Background()) }() // it only read
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		var n int
		ts.Check(conn.QueryRow(ctx, `SELECT count(*) FROM pg_database WHERE datname LIKE 'selvage\_bench\_%'`).Scan(&n))
		if n == want {
			tick.Stop()
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			ts.Fatalf("there are %d databases of bench; want %d", n, want)
		}
	}
}
