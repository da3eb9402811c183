package sqlite

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	"github.com/selvagehq/selvage"
)

// Tx is the transaction of one [Store.AppendTx], open for statements of the
// caller's own until the function it was handed to returns. It belongs to that
// function's goroutine. Statements that begin or end transactions, or that
// concern the whole connection, are refused.
//
// Arguments are what database/sql takes: integers, floats, strings, bytes,
// bools, times and whatever is a driver.Valuer. A statement that fails leaves
// the others as they are; it is for the caller to give up by an error.
type Tx struct {
	t       *txn // nil when it is over
	receipt selvage.Receipt
}

// Receipt is that of the change, which counts once AppendTx has returned it.
func (tx *Tx) Receipt() selvage.Receipt { return tx.receipt }

// Exec runs a statement and returns how many rows it wrote. An error of the
// database, such as of a constraint that does not hold, matches no class.
func (tx *Tx) Exec(query string, args ...any) (int64, error) {
	s, values, err := tx.prepare(query, args)
	if err != nil {
		return 0, fmt.Errorf("exec: %w", err)
	}
	result, err := s.ExecContext(background(), values)
	if err == nil {
		var n int64
		n, err = result.RowsAffected()
		// What is counted here is undone if the change is.
		tx.t.written += n
		if err == nil {
			return n, closing(s)
		}
	}
	return 0, fmt.Errorf("exec: %w", errors.Join(err, s.Close()))
}

// Query runs a statement that answers rows and calls each with one after the
// other. Row.Scan reads it. An error that each returns ends the query and is
// returned as it is.
func (tx *Tx) Query(each func(Row) error, query string, args ...any) (err error) {
	s, values, err := tx.prepare(query, args)
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	found, err := s.QueryContext(background(), values)
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	row := Row{names: found.Columns()}
	row.cells = make([]driver.Value, len(row.names))
	for {
		switch err := found.Next(row.cells); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("query: %w", err)
		}
		if err := each(row); err != nil {
			return err
		}
	}
}

// QueryRow reads the first row that a statement answers. It returns
// [sql.ErrNoRows] if there is none.
func (tx *Tx) QueryRow(query string, args ...any) Row {
	var first *Row
	err := tx.Query(func(r Row) error {
		first = &r
		return errEnough
	}, query, args...)
	switch {
	case first != nil && errors.Is(err, errEnough):
		return *first
	case err == nil:
		err = sql.ErrNoRows
	}
	return Row{err: err}
}

// errEnough ends a query of which no more rows are wanted.
var errEnough = errors.New("enough")

// errOver is the error of a transaction that was kept for longer than it lasts.
var errOver = fmt.Errorf("the transaction is over: %w", selvage.ErrClosed)

// prepare compiles a statement of the caller's, which is not kept.
func (tx *Tx) prepare(query string, args []any) (rawStmt, []driver.NamedValue, error) {
	if tx.t == nil {
		return nil, nil, errOver
	}
	if err := checkStatement(query); err != nil {
		return nil, nil, err
	}
	values := make([]driver.NamedValue, len(args))
	for i, a := range args {
		v, err := driver.DefaultParameterConverter.ConvertValue(a)
		if err != nil {
			return nil, nil, &selvage.InvalidError{Field: fmt.Sprintf("argument %d", i+1), Reason: err.Error()}
		}
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	tx.t.c.count()
	prepared, err := tx.t.c.raw.Prepare(query)
	if err != nil {
		return nil, nil, err
	}
	s, ok := prepared.(rawStmt)
	if !ok {
		return nil, nil, errors.Join(fmt.Errorf("the driver's %T lacks what this package needs", prepared), prepared.Close())
	}
	return s, values, nil
}

func closing(s rawStmt) error {
	if err := s.Close(); err != nil {
		return fmt.Errorf("exec: %w", err)
	}
	return nil
}

// Row is one row of a query.
type Row struct {
	names []string
	cells []driver.Value
	err   error
}

// Scan copies the columns, in order, into what the pointers point to: integers,
// floats, strings, bytes, bools, *any, or any [sql.Scanner]. What may be NULL
// needs a Scanner such as [sql.Null], or *any.
func (r Row) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	if len(dest) != len(r.cells) {
		return &selvage.InvalidError{Reason: fmt.Sprintf("the row has %d columns, and there are %d places for them", len(r.cells), len(dest))}
	}
	for i, d := range dest {
		if err := assign(d, r.cells[i]); err != nil {
			return &selvage.InvalidError{Field: "column " + r.names[i], Reason: err.Error()}
		}
	}
	return nil
}

// assign converts as database/sql does.
func assign(dest any, v driver.Value) error {
	switch d := dest.(type) {
	case sql.Scanner:
		return d.Scan(v)
	case *any:
		*d = v
		return nil
	case *int64:
		return convert(d, v)
	case *int:
		return convert(d, v)
	case *string:
		return convert(d, v)
	case *[]byte:
		return convert(d, v)
	case *bool:
		return convert(d, v)
	case *float64:
		return convert(d, v)
	default:
		return fmt.Errorf("a %T cannot take it; use a sql.Scanner", dest)
	}
}

func convert[T any](dest *T, v driver.Value) error {
	var n sql.Null[T]
	if err := n.Scan(v); err != nil {
		return err
	}
	if !n.Valid {
		return errors.New("it is NULL; use a sql.Null")
	}
	*dest = n.V
	return nil
}
