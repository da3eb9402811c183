package stores_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/stores"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Each form of URL opens its backend, and a file is the same by either name.
func TestOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	for i, name := range []string{path, "sqlite:" + path, "memory:"} {
		store, err := stores.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = store.Append(t.Context(), "t", selvage.ChangeSet{}, selvage.New())
		if again := i == 1; errors.Is(err, selvage.ErrAlreadyExists) != again || !again && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, ok := selvage.As[selvage.Leaser](store); !ok {
			t.Errorf("%s has no leases", name)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What cannot be opened is refused with what can, and without secrets.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tests := map[string]error{
		"":                              selvage.ErrInvalid,
		"sqlite:":                       selvage.ErrInvalid,
		"memory:name":                   selvage.ErrInvalid,
		"app":                           selvage.ErrInvalid,
		"app.txt":                       selvage.ErrInvalid,
		"redis://user:hunter2@host/0":   selvage.ErrInvalid,
		"@prod":                         selvage.ErrInvalid,
		"./dir/":                        selvage.ErrUnsupported,
		"file:dir":                      selvage.ErrUnsupported,
		"postgres:hunter2":              selvage.ErrInvalid,
		"postgresql://u:hunter2@%zz/db": selvage.ErrInvalid,
		"host=db password=hunter2":      selvage.ErrInvalid,
		"user=u password = 'a hunter2'": selvage.ErrInvalid,
		" postgres://u:hunter2@db/db":   selvage.ErrInvalid,
		"postgres:/u:hunter2@db/db":     selvage.ErrInvalid,
		"postgres//u:hunter2@db/db":     selvage.ErrInvalid,
		"POSTGRES:/u:hunter2@db/db":     selvage.ErrInvalid,
		"postgres//u:hunter2@db/":       selvage.ErrUnsupported,
		"http://localhost:7420":         selvage.ErrUnsupported,
		"https://u:hunter2@example.org": selvage.ErrUnsupported,
		"nats://u:hunter2@localhost":    selvage.ErrUnsupported,
	}
	for name, want := range tests {
		store, err := stores.Open(t.Context(), name)
		if !errors.Is(err, want) || store != nil {
			t.Errorf("%q: %v, %v; want %v", name, store, err, want)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: the error tells the password: %v", name, err)
		}
		if name != "@prod" && name != "memory:name" && !strings.HasPrefix(name, "postgres") && !strings.Contains(err.Error(), "sqlite:PATH") {
			t.Errorf("%q: the error does not say what is offered: %v", name, err)
		}
	}
	if store, err := stores.Open(t.Context(), "sqlite:"+dir); err == nil || store != nil {
		t.Errorf("a directory was opened: %v", store)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v was made, %v", entries, err)
	}
}

// A server that is not there is told apart from a URL that is none, without
// the password, wherever it stands.
func TestOpenUnreachable(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"postgres://u:hunter2@127.0.0.1:1/db", "postgresql://127.0.0.1:1/db?user=u&password=hunter2"} {
		store, err := stores.Open(t.Context(), name)
		if !errors.Is(err, selvage.ErrUnavailable) || store != nil {
			t.Errorf("%v, %v; want unavailable", store, err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error tells the password: %v", err)
		}
	}
}

// What is not there is not made by who opens only what exists.
func TestOpenExisting(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	if store, err := stores.OpenExisting(t.Context(), path); !errors.Is(err, selvage.ErrNotFound) || store != nil {
		t.Errorf("a file that does not exist: %v, %v; want not found", store, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was made: %v", err)
	}
	for _, open := range []func(context.Context, string) (selvage.Store, error){stores.Open, stores.OpenExisting} {
		store, err := open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}

func ExampleOpen() {
	ctx := context.Background()
	store, err := stores.Open(ctx, "memory:")
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	receipt, err := store.Append(ctx, "t1", selvage.ChangeSet{Messages: []selvage.Message{selvage.UserText("hi")}}, selvage.New())
	fmt.Println(receipt.Version, err)

	_, err = stores.Open(ctx, "https://app:secret@example.org")
	fmt.Println(err)
	// Output:
	// 1 <nil>
	// store "https://app:xxxxx@example.org": a Selvage server is not offered; this build opens memory:, PATH.db, sqlite:PATH and postgres://...: unsupported
}
