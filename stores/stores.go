// Package stores opens a store by its URL: the one place that knows every
// backend of this build. A program that wants only one backend imports that
// package instead and links nothing else.
package stores

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/settings"
	"github.com/selvagehq/selvage/store/inmem"
)

// offered is what an error says about the URLs that this build opens.
const offered = "this build opens memory:, PATH.db, sqlite:PATH and postgres://..."

// Open opens the store that a URL names:
//
//	memory:                nothing is kept
//	PATH.db, sqlite:PATH   a SQLite file, made if it does not exist
//	postgres://...         a PostgreSQL database, its tables made if need be;
//	postgresql://...       what the URL leaves out is read from PGHOST,
//	                       PGUSER, PGPASSWORD, PGDATABASE and so on
//
// A form that Selvage knows and this build does not offer matches
// [selvage.ErrUnsupported], anything else [selvage.ErrInvalid]; both say what
// is offered, and never repeat a password. A server that cannot be reached
// matches [selvage.ErrUnavailable]. The caller closes the store.
func Open(ctx context.Context, name string) (selvage.Store, error) { return open(ctx, name, false) }

// OpenExisting is [Open] for a store that is there: one that is not matches
// [selvage.ErrNotFound] and is not made, and no schema of a server is changed.
func OpenExisting(ctx context.Context, name string) (selvage.Store, error) {
	return open(ctx, name, true)
}

func open(ctx context.Context, name string, existing bool) (selvage.Store, error) {
	scheme, rest, schemed := strings.Cut(name, ":")
	switch {
	case name == "":
		return nil, refuse("store", "a store needs a name; "+offered)
	case name == "memory:":
		return inmem.New(inmem.Options{}), nil
	case schemed && scheme == "memory":
		return nil, refuse(name, "a store in memory has no name; use memory:")
	case schemed && scheme == "sqlite":
		return openSQLite(ctx, rest, existing)
	case schemed && (scheme == "postgres" || scheme == "postgresql"):
		return openPostgres(ctx, name, existing)
	case schemed && isScheme(scheme):
		return nil, notOffered(scheme, name)
	case strings.HasPrefix(name, "@"):
		return nil, refuse(name, "this is a name from a configuration file, which stands for a URL; give the URL itself")
	case strings.HasSuffix(name, "/") || strings.HasSuffix(name, string(filepath.Separator)):
		return nil, fmt.Errorf("store %q: a directory is a file store, which is not offered; %s: %w", settings.Redact(name), offered, selvage.ErrUnsupported)
	case strings.EqualFold(filepath.Ext(name), ".db"):
		return openSQLite(ctx, name, existing)
	}
	return nil, refuse(name, offered+"; write sqlite:"+settings.Redact(name)+" if it is a SQLite file")
}

// isScheme reports whether s is what a URL starts with, and not a Windows
// drive.
func isScheme(s string) bool {
	return len(s) > 1 && !strings.ContainsAny(s, "./\\@ ")
}

// notOffered refuses a URL whose scheme is that of no backend of this build.
func notOffered(scheme, name string) error {
	what := ""
	switch scheme {
	case "http", "https":
		what = "a Selvage server"
	case "file":
		what = "the file store"
	case "nats":
		what = "NATS, which is a mailbox and not a store"
	default:
		return refuse(redacted(name), fmt.Sprintf("%q is not a kind of store; %s", scheme, offered))
	}
	return fmt.Errorf("store %q: %s is not offered; %s: %w", redacted(name), what, offered, selvage.ErrUnsupported)
}

// redacted is a URL without the password that may be in it, and without its
// query.
func redacted(name string) string {
	u, err := url.Parse(name)
	if err != nil || u.Opaque != "" {
		scheme, _, _ := strings.Cut(name, ":")
		return scheme + ":..."
	}
	u.RawQuery, u.Fragment = "", ""
	if u.Host == "" {
		return settings.Redact(u.String()) // one slash too few
	}
	return u.Redacted()
}

func refuse(name, reason string) error {
	return fmt.Errorf("open store: %w", &selvage.InvalidError{Field: settings.Redact(name), Reason: reason})
}
