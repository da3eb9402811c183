package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

// childRole is the environment variable that turns the test binary into a
// child process with a role.
const childRole = "SELVAGE_TEST_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childRole); role != "" {
		if err := child(role, os.Args[1], os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// startChild runs this program again in a role, on a database file.
func startChild(t testing.TB, role, path string, args ...string) (*exec.Cmd, io.ReadCloser) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), exe, append([]string{path}, args...)...)
	cmd.Env = append(os.Environ(), childRole+"="+role)
	cmd.Stderr = os.Stderr
	// Kept open, so that a child may wait at it for its end.
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out
}

// child is what such a process does.
func child(role, path string, args []string) (err error) {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	switch role {
	case "hasty":
		s.AnswerEarly()
		return appendForever(ctx, s, false)
	case "forever", "liar":
		return appendForever(ctx, s, role == "liar")
	case "orders":
		return orderForever(ctx, s)
	case "race":
		return raceForVersions(ctx, s, args[0])
	case "lease":
		return leaseAndWait(ctx, s)
	case "limited":
		return fillUp(ctx, s)
	case "linear":
		return recordPart(ctx, s, args[0])
	default:
		return fmt.Errorf("%q is not a role", role)
	}
}

// appendForever appends to a few threads and tells each version as soon as it
// is acknowledged, or, as a lie, before it is made.
func appendForever(ctx context.Context, s *sqlite.Store, lie bool) error {
	errs := make(chan error)
	for i := range 4 {
		go func() { errs <- appendTurns(ctx, s, selvage.ThreadID("t-"+strconv.Itoa(i)), lie) }()
	}
	return <-errs
}

func appendTurns(ctx context.Context, s *sqlite.Store, id selvage.ThreadID, lie bool) error {
	var v selvage.Version
	if h, err := s.Load(ctx, id, selvage.LoadOptions{}); err == nil {
		v = h.Thread.Version
	} else if !errors.Is(err, selvage.ErrNotFound) {
		return err
	}
	for ; ; v++ {
		set := counted(selvage.NewID())
		// One write, so that a line is there or not.
		line := fmt.Sprintf("%s %d %s\n", id, v+1, set.Messages[0].Text())
		if lie {
			fmt.Print(line)
		}
		if _, err := s.Append(ctx, id, set, selvage.Exact(v)); err != nil {
			return err
		}
		if !lie {
			fmt.Print(line)
		}
	}
}

// raceForVersions appends to one thread until it has won a number of versions,
// and tells which.
func raceForVersions(ctx context.Context, s *sqlite.Store, wins string) error {
	n, err := strconv.Atoi(wins)
	if err != nil {
		return err
	}
	var v selvage.Version
	for n > 0 {
		set := say(fmt.Sprintf("%d wants %d", os.Getpid(), v+1))
		r, err := s.Append(ctx, "t", set, selvage.Exact(v))
		var conflict *selvage.ConflictError
		switch {
		case err == nil:
			fmt.Printf("%d %s\n", r.Version, set.Messages[0].Text())
			v, n = r.Version, n-1
		case errors.As(err, &conflict):
			v = conflict.Actual
		case errors.Is(err, selvage.ErrAlreadyExists):
			v = 1
		default:
			return err
		}
	}
	return nil
}

// leaseAndWait takes a lease, says so, and waits to be killed.
func leaseAndWait(ctx context.Context, s *sqlite.Store) error {
	owner := self("child")
	l, err := s.Acquire(ctx, "t", owner, hour)
	if err != nil {
		return err
	}
	fmt.Println(l.Epoch)
	_, err = bufio.NewReader(os.Stdin).ReadByte()
	return err
}
