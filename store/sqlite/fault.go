package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/process"
)

// Primary result codes of SQLite.
const (
	codePerm     = 3
	codeBusy     = 5
	codeLocked   = 6
	codeNoMemory = 7
	codeReadOnly = 8
	codeIO       = 10
	codeCorrupt  = 11
	codeFull     = 13
	codeCantOpen = 14
	codeProtocol = 15
	codeNotADB   = 26

	// codeNoRoomForIndex is the extended code of a file beside the database, the
	// index of its log, that could not be made longer.
	codeNoRoomForIndex = codeIO | 19<<8
)

// classified reports whether err already matches a class of the contract.
func classified(err error) bool { return selvage.Code(err) != "internal" }

// busy reports whether another connection was in the way.
func busy(err error) bool {
	switch sqliteCode(err) {
	case codeBusy, codeLocked, codeProtocol:
		return true
	default:
		return false
	}
}

// fault gives an error of the engine its class, and tells what to do.
func (s *Store) fault(err error) error {
	if err == nil {
		return nil
	}
	if strings.Contains(err.Error(), "\n") {
		err = &oneLine{err}
	}
	if classified(err) {
		return err
	}
	class, advice := selvage.ErrUnavailable, "see the log of the system"
	code := sqliteCode(err)
	if extendedCode(err) == codeNoRoomForIndex {
		code = codeFull
	}
	switch code {
	case codeBusy, codeLocked, codeProtocol:
		advice = lockedBy(process.Holders(s.path, s.path+"-shm"))
	case codeFull:
		advice = "its disk is full; free some space and try again"
	case codeIO:
		advice = "its disk answers with errors"
	case codeReadOnly, codePerm:
		advice = "it cannot be written; check the permissions of the file and of its directory"
	case codeCantOpen:
		advice = "it cannot be opened; check the permissions of the file and of its directory"
	case codeNoMemory:
		advice = "there is no memory left"
	case codeCorrupt:
		class, advice = selvage.ErrCorrupt, "the file is damaged; restore it from a backup"
	case codeNotADB:
		class, advice = selvage.ErrCorrupt, "the file is not a SQLite database"
	}
	return fmt.Errorf("database %s: %s: %w (%w)", s.path, advice, class, err)
}

// lockedBy says who keeps the database locked, as far as that is known, and what
// to do about it.
func lockedBy(holders []process.Holder) string {
	switch {
	case len(holders) == 0:
		return "another process keeps it locked; try again"
	case holders[0].Stopped:
		return fmt.Sprintf("%s keeps it locked and is stopped; let it go on (kill -CONT %d) or end it (kill -9 %[2]d), nothing that was acknowledged is lost",
			holders[0], holders[0].PID)
	default:
		return fmt.Sprintf("%s keeps it locked; try again, or see to that process", holders[0])
	}
}

// oneLine is an error whose text fits a line of a log: several joined ones are
// told one after the other.
type oneLine struct{ err error }

func (e *oneLine) Error() string {
	return strings.Join(strings.FieldsFunc(e.err.Error(), func(r rune) bool { return r == '\n' }), "; ")
}

func (e *oneLine) Unwrap() error { return e.err }

// unknown is the answer to a change whose commit failed: nobody can tell
// whether it is there until it is looked for.
func (s *Store) unknown(err error) error {
	return fmt.Errorf("database %s: the commit failed, and whether it took effect is not known: %w (%w)", s.path, selvage.ErrUnknownOutcome, err)
}

// cancelled is the answer to a caller that left the queue.
func cancelled(ctx context.Context) error {
	return fmt.Errorf("nothing was written: %w", ctx.Err())
}

// errNoRows is the error of a row that must be there.
var errNoRow = errors.New("a row that must be there is missing")

// corrupt is an error about a thread whose rows contradict each other.
func corrupt(id selvage.ThreadID, v selvage.Version, format string, args ...any) error {
	return &selvage.CorruptError{Thread: id, Version: v, Reason: fmt.Sprintf(format, args...)}
}
