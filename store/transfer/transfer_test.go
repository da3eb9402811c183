package transfer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/inmem"
	"github.com/selvagehq/selvage/store/sqlite"
	"github.com/selvagehq/selvage/store/transfer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openFile(t *testing.T) selvage.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "a.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// fill makes threads with n changes each in a store.
func fill(t *testing.T, s selvage.Store, n int, ids ...selvage.ThreadID) {
	t.Helper()
	for _, id := range ids {
		pre := selvage.New()
		if _, err := s.Load(t.Context(), id, selvage.LoadOptions{}); err == nil {
			pre = selvage.Any()
		}
		run := selvage.RunID("")
		for i := range n {
			set := selvage.ChangeSet{Messages: []selvage.Message{selvage.UserText(fmt.Sprintf("%s says %d <&>", id, i))},
				Patches: []selvage.StatePatch{{Ops: state.Patch{state.Set("/n", state.Int(int64(i)))}}}}
			if i == 0 {
				run = selvage.RunID("run-" + selvage.NewID())
				set.Runs = []selvage.RunUpdate{{ID: run, Status: selvage.RunRunning}}
			}
			if i == n-1 {
				set.Runs = append(set.Runs, selvage.RunUpdate{ID: run, Status: selvage.RunDone, Outcome: &selvage.Outcome{Kind: selvage.OutcomeCompleted}})
			}
			if _, err := s.Append(t.Context(), id, set, pre); err != nil {
				t.Fatal(err)
			}
			pre = selvage.Any()
		}
	}
}

// head is what a thread looks like from outside.
func head(t *testing.T, s selvage.Store, id selvage.ThreadID) string {
	t.Helper()
	h, err := s.Load(t.Context(), id, selvage.LoadOptions{})
	if err != nil {
		return selvage.Code(err)
	}
	data, err := json.Marshal(&h)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func tenantOf(t *testing.T, s selvage.Store, name string) selvage.Store {
	t.Helper()
	tenancy, _ := selvage.As[selvage.Tenancy](s)
	acme, err := tenancy.Tenant(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = acme.Close() })
	return acme
}

func TestLog(t *testing.T) {
	t.Parallel()
	from, to := inmem.New(inmem.Options{}), openFile(t)
	fill(t, from, 250, "a")
	var file bytes.Buffer
	h, err := transfer.WriteLog(t.Context(), from, "a", &file)
	if err != nil || h.Version != 250 || strings.Count(file.String(), "\n") != 251 {
		t.Fatalf("wrote %+v, %d lines, %v", h, strings.Count(file.String(), "\n"), err)
	}
	read := func(text string, to selvage.Store) (selvage.Version, error) {
		l, err := transfer.NewLogReader(strings.NewReader(text))
		if err != nil {
			return 0, err
		}
		return transfer.ReadLog(t.Context(), l, to, "")
	}
	if v, err := read(file.String(), to); v != 250 || err != nil {
		t.Fatalf("read to version %d, %v", v, err)
	}
	if got, want := head(t, to, "a"), head(t, from, "a"); got != want {
		t.Errorf("read as\n%s\nnot\n%s", got, want)
	}
	l, err := transfer.NewLogReader(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := transfer.ReadLog(t.Context(), l, to, "b"); !errors.Is(err, selvage.ErrAlreadyExists) {
		t.Errorf("beside its origin, with its runs: %v", err)
	}
	lines := strings.SplitAfter(file.String(), "\n")
	for name, tt := range map[string]struct {
		text string
		want error
	}{
		"nothing":       {"", selvage.ErrInvalid},
		"no log":        {`{"a":1}`, selvage.ErrInvalid},
		"no JSON":       {"hello\n", selvage.ErrInvalid},
		"newer":         {strings.Replace(file.String(), `"format":1`, `"format":2`, 1), selvage.ErrUnsupported},
		"cut":           {strings.Join(lines[:200], ""), selvage.ErrCorrupt},
		"cut in a line": {file.String()[:file.Len()-40], selvage.ErrInvalid},
		"a line less":   {strings.Join(append(append([]string(nil), lines[:100]...), lines[101:]...), ""), selvage.ErrCorrupt},
		"another word":  {strings.Replace(file.String(), "a says 100 ", "a says 101 ", 1), selvage.ErrCorrupt},
	} {
		if v, err := read(tt.text, inmem.New(inmem.Options{})); !errors.Is(err, tt.want) {
			t.Errorf("%s: read to version %d, %v; want %v", name, v, err, tt.want)
		}
	}
}

func TestCopy(t *testing.T) {
	t.Parallel()
	from, to := openFile(t), inmem.New(inmem.Options{})
	ids := []selvage.ThreadID{"a", "b", "c"}
	fill(t, from, 130, ids...)
	fill(t, tenantOf(t, from, "acme"), 3, "a")
	told := 0
	report, err := transfer.Copy(t.Context(), from, to, transfer.CopyOptions{Told: func(transfer.CopyReport) { told++ }})
	if err != nil || !reflect.DeepEqual(report, transfer.CopyReport{Tenants: 1, Threads: 4, Changes: 393}) || told != 4 {
		t.Fatalf("copied %+v, told %d times, %v", report, told, err)
	}
	for _, id := range ids {
		if got, want := head(t, to, id), head(t, from, id); got != want {
			t.Errorf("thread %s is\n%s\nnot\n%s", id, got, want)
		}
	}
	if got, want := head(t, tenantOf(t, to, "acme"), "a"), head(t, tenantOf(t, from, "acme"), "a"); got != want {
		t.Errorf("the tenant's thread is\n%s\nnot\n%s", got, want)
	}
	fill(t, from, 2, "b")
	if report, err = transfer.Copy(t.Context(), from, to, transfer.CopyOptions{}); err != nil || report.Changes != 2 || report.UpToDate != 3 {
		t.Errorf("a second copy: %+v, %v", report, err)
	}
}

// The blobs that messages refer to come along, and are kept there as long.
func TestCopyBrings(t *testing.T) {
	t.Parallel()
	from, to := openFile(t), inmem.New(inmem.Options{})
	source, _ := selvage.As[selvage.Blobs](from)
	target, _ := selvage.As[selvage.Blobs](to)
	ref, err := source.Put(t.Context(), strings.NewReader("a picture"))
	if err != nil {
		t.Fatal(err)
	}
	set := selvage.ChangeSet{Messages: []selvage.Message{{Role: selvage.RoleUser, Content: selvage.Content{{Type: selvage.PartImage, Blob: ref.ID}}}}}
	if _, err := from.Append(t.Context(), "a", set, selvage.New()); err != nil {
		t.Fatal(err)
	}
	if _, err := transfer.Copy(t.Context(), from, to, transfer.CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	grace := time.Duration(0)
	if _, err := target.Collect(t.Context(), selvage.BlobCollect{Grace: &grace}); err != nil {
		t.Fatal(err)
	}
	if info, err := target.Stat(t.Context(), ref.ID); err != nil || info.References != 1 || info.Size != ref.Size {
		t.Errorf("the copy of a blob is %+v, %v", info, err)
	}
}

// A copy that breaks off goes on where it was.
func TestCopyResumes(t *testing.T) {
	t.Parallel()
	from, to := inmem.New(inmem.Options{}), openFile(t)
	fill(t, from, 150, "a", "b")
	ctx, cancel := context.WithCancel(t.Context())
	_, err := transfer.Copy(ctx, from, to, transfer.CopyOptions{Told: func(transfer.CopyReport) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("broken off: %v", err)
	}
	report, err := transfer.Copy(t.Context(), from, to, transfer.CopyOptions{})
	if err != nil || report.Changes != 150 || report.UpToDate != 1 {
		t.Errorf("gone on: %+v, %v", report, err)
	}
}

// A copy that broke off within what was compacted goes on, too.
func TestCopyResumesCompacted(t *testing.T) {
	t.Parallel()
	from, to := inmem.New(inmem.Options{}), openFile(t)
	fill(t, from, 250, "a")
	compactor, _ := selvage.As[selvage.Compactor](from)
	if r, err := compactor.Compact(t.Context(), selvage.CompactRequest{Retention: &selvage.Retention{Checkpoints: 1}}); err != nil || r.Changes == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	var file bytes.Buffer
	if _, err := transfer.WriteLog(t.Context(), from, "a", &file); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(file.String(), "\n")
	l, err := transfer.NewLogReader(strings.NewReader(strings.Join(lines[:150], "")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := transfer.ReadLog(t.Context(), l, to, ""); !errors.Is(err, selvage.ErrCorrupt) {
		t.Fatal(err)
	}
	if _, err := transfer.Copy(t.Context(), from, to, transfer.CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, want := head(t, to, "a"), head(t, from, "a"); got != want {
		t.Errorf("copied as\n%s\nnot\n%s", got, want)
	}
}

// Threads with a history of their own are left alone.
func TestCopyRefuses(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]int{"shorter": 1, "as long": 3, "longer": 5} {
		from, to := inmem.New(inmem.Options{}), inmem.New(inmem.Options{})
		fill(t, from, 3, "a")
		fill(t, to, n, "a")
		before := head(t, to, "a")
		if _, err := transfer.Copy(t.Context(), from, to, transfer.CopyOptions{}); !errors.Is(err, selvage.ErrAlreadyExists) {
			t.Errorf("%s: %v, want ErrAlreadyExists", name, err)
		}
		if head(t, to, "a") != before {
			t.Errorf("%s: it was changed", name)
		}
	}
	if _, err := transfer.Copy(t.Context(), inmem.New(inmem.Options{}), openFile(t), transfer.CopyOptions{Thread: "none"}); !errors.Is(err, selvage.ErrNotFound) {
		t.Errorf("no such thread: %v", err)
	}
}

// A proof may be indented for people and still proves.
func TestProof(t *testing.T) {
	t.Parallel()
	s := inmem.New(inmem.Options{})
	fill(t, s, 5, "a")
	p, err := transfer.NewProof(t.Context(), s, "a")
	if err != nil {
		t.Fatal(err)
	}
	for _, indent := range []string{"", "  "} {
		var file bytes.Buffer
		e := json.NewEncoder(&file)
		e.SetEscapeHTML(false)
		e.SetIndent("", indent)
		if err := e.Encode(p); err != nil {
			t.Fatal(err)
		}
		text := file.String()
		read := func(text string) error {
			p, err := transfer.ReadProof(strings.NewReader(text))
			if err != nil {
				return err
			}
			return p.Verify()
		}
		if err := read(text); err != nil {
			t.Errorf("indented by %q: %v", indent, err)
		}
		for _, tampered := range []string{"says 3", "2026-", `"seq":`, `"added":`} {
			bent := strings.Replace(text, tampered, strings.NewReplacer("3", "4", "2026", "2027", "seq", "sex", "added", "addex").Replace(tampered), 1)
			if indent == "" && bent != text && read(bent) == nil {
				t.Errorf("with another %q it still proves", tampered)
			}
		}
		if err := read(text[:len(text)/2]); !errors.Is(err, selvage.ErrInvalid) {
			t.Errorf("half of it: %v", err)
		}
	}
}
