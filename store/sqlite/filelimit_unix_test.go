//go:build unix

package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/sqlite"
)

// fileLimit is how large a file the limited process may write at first.
const fileLimit = 256 << 10 // bytes

// fillUp appends until no file may grow any more, and goes on when it may. It
// tells each version as soon as it is acknowledged.
func fillUp(ctx context.Context, s *sqlite.Store) error {
	signal.Ignore(syscall.SIGXFSZ) // the write then fails instead
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	limit.Cur = fileLimit
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	pre, said := selvage.New(), strings.Repeat("x", 2000)
	add := func(text string) error {
		r, err := s.Append(ctx, "t", say(text), pre)
		if err == nil {
			fmt.Println("t", r.Version, text)
			pre = selvage.Any()
		}
		return err
	}
	var err error
	for i := 0; err == nil; i++ {
		err = add(fmt.Sprintf("%d%s", i, said))
	}
	fmt.Println("refused", selvage.Code(err))
	if _, err := s.Load(ctx, "t", selvage.LoadOptions{}); err != nil {
		return fmt.Errorf("a read while nothing can be written: %w", err)
	}
	if err := add(strings.Repeat("y", 2*fileLimit)); err == nil {
		return errors.New("an append to a file that may not grow was acknowledged")
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	return add("on it goes")
}

// TestFileLimit runs a process whose files may not grow beyond a size, as on a
// full disk, and then may.
func TestFileLimit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "selvage.db")
	cmd, out := startChild(t, "limited", path)
	acknowledged, refusal, last := make(map[string]string), "", ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		switch f := strings.SplitN(lines.Text(), " ", 3); f[0] {
		case "t":
			acknowledged[f[0]+" "+f[1]], last = f[2], f[2]
		case "refused":
			refusal = f[1]
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if refusal != "unavailable" && refusal != "unknown_outcome" {
		t.Errorf("an append beyond the limit answers %q; want unavailable or unknown_outcome", refusal)
	}
	if len(acknowledged) < 5 || last != "on it goes" {
		t.Errorf("%d appends were acknowledged, the last %q; want some, and one after the limit was raised", len(acknowledged), last)
	}
	if missing := checkAll(t, path, acknowledged); missing != 0 {
		t.Errorf("%d of %d acknowledged changes are gone", missing, len(acknowledged))
	}
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		t.Errorf("the database: %v", err)
	}
}
