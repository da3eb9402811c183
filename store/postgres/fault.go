package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/selvagehq/selvage"
)

// verdict is what an error of the driver means for the statement it came from.
type verdict uint8

const (
	// refused: the server answered that it did not do it, and will not.
	refused verdict = iota
	// duplicate: refused because a unique key is taken.
	duplicate
	// crossed: refused because of what others did at the same time; the same
	// again may succeed.
	crossed
	// unsent: it never left, or a connection could not be made.
	unsent
	// unprepared: the server does not know, or knows already, a prepared
	// statement, as happens behind a pooler; nothing was done.
	unprepared
	// lost: it was sent and not answered.
	lost
)

// judge tells what an error means. Of err only that it is not nil is known.
func judge(err error) verdict {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return judgeAnswer(pg)
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) || pgconn.SafeToRetry(err) {
		return unsent
	}
	return lost
}

// judgeAnswer tells what the server's own error means.
func judgeAnswer(pg *pgconn.PgError) verdict {
	// A fatal error ends the session, perhaps between a commit and its answer.
	if severity := pg.SeverityUnlocalized; severity != "ERROR" && (severity != "" || pg.Severity != "ERROR") {
		return lost
	}
	switch pg.Code {
	case "23505", "23503": // unique_violation; foreign_key_violation: a blob was collected meanwhile
		return duplicate
	case "40001", "40P01", "0A000": // serialization_failure, deadlock_detected, the plan of a prepared statement is out of date
		return crossed
	case "26000", "42P05": // invalid_sql_statement_name, duplicate_prepared_statement
		return unprepared
	case "40003": // statement_completion_unknown
		return lost
	default:
		return refused
	}
}

// uncommitted reports whether an error leaves open what became of a transaction
// that was to be committed. The driver's word that nothing was sent counts for
// nothing here: where the answer to a commit is cut, it closes the connection
// and then says only that it is closed.
func uncommitted(err error) bool {
	v := judge(err)
	return v == lost || v == unsent
}

// fault turns an error of the driver into one of the store's. Nothing of the
// connection's secrets is in the errors of the driver that come here.
func fault(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	if cause := ctx.Err(); cause != nil {
		return fmt.Errorf("%s: %w", what, cause)
	}
	if ours(err) != nil {
		return err
	}
	return fmt.Errorf("%s: %s: %w", what, describe(err), class(err))
}

// class is the class of an error of the driver, for a call that wrote nothing.
func class(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && strings.HasPrefix(pg.Code, "XX") && pg.Code != "XX000" { // data_corrupted, index_corrupted
		return selvage.ErrCorrupt
	}
	return selvage.ErrUnavailable
}

// ours returns err if it is of the store itself and not of the driver.
func ours(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) || selvage.Code(err) == "internal" {
		return nil
	}
	return err
}

// describe says what went wrong. The driver names hosts, users and databases
// in its errors and leaves passwords out.
func describe(err error) string {
	var pg *pgconn.PgError
	var connect *pgconn.ConnectError
	switch {
	case errors.As(err, &connect):
		return describeConnect(connect)
	case errors.As(err, &pg):
		return fmt.Sprintf("the database says: %s (%s)", pg.Message, pg.Code)
	default:
		return fmt.Sprintf("the connection to the database broke: %v", err)
	}
}

// describeConnect says why a connection could not be made, and what to do
// where the server itself said why.
func describeConnect(err *pgconn.ConnectError) string {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return "no server answers: " + oneLine(err.Error())
	}
	said := fmt.Sprintf("the server answers, but does not let us in: %s (%s)", pg.Message, pg.Code)
	switch {
	case strings.HasPrefix(pg.Code, "28"): // invalid_authorization_specification, invalid_password
		return said + "; check user and password"
	case pg.Code == "3D000": // invalid_catalog_name
		return said + "; create the database first: createdb NAME"
	case pg.Code == "53300": // too_many_connections
		return said + "; raise its max_connections, or set pool_max_conns lower"
	default:
		return said
	}
}

// oneLine joins what the driver says in several lines, one for each address it
// tried.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// damaged reports what is wrong with a version of a thread.
func damaged(id selvage.ThreadID, version int64, format string, args ...any) error {
	return &selvage.CorruptError{Thread: id, Version: selvage.Version(version), Reason: fmt.Sprintf(format, args...)}
}
