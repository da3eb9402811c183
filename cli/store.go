package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/settings"
	"github.com/selvagehq/selvage/stores"
)

// defaultStoreName is the file of the default store in the home.
const defaultStoreName = "selvage.db"

// purpose is what a store is opened for.
type purpose uint8

const (
	forReading  purpose = iota // a store that does not exist is not made
	forChanging                // nor here: there is nothing in it to change
	forWriting                 // what does not exist is made
)

// errNoStore is that the default store does not exist yet.
var errNoStore = fmt.Errorf("nothing is kept yet, the default store does not exist: %w", selvage.ErrNotFound)

// errMissing is that a store that was named does not exist.
var errMissing = fmt.Errorf("it does not exist: %w", selvage.ErrNotFound)

// noStoreYet reports whether err is that the default store does not exist.
func noStoreYet(err error) bool { return errors.Is(err, errNoStore) }

// missingStore reports whether err is that the store does not exist.
func missingStore(err error) bool { return noStoreYet(err) || errors.Is(err, errMissing) }

func (a *app) defaultStore(home string) string { return filepath.Join(home, defaultStoreName) }

// openStore opens the store that was chosen. The caller closes it.
func (a *app) openStore(ctx context.Context, why purpose) (selvage.Store, error) {
	url, err := a.storeURL()
	if err != nil {
		return nil, err
	}
	return a.openURL(ctx, url, a.conf.Get("store").Set(), why)
}

// openStoreURL opens a store that a flag names. The caller closes it.
func (a *app) openStoreURL(ctx context.Context, text string, why purpose) (selvage.Store, error) {
	url, err := a.resolveStore(text)
	if err != nil {
		return nil, err
	}
	return a.openURL(ctx, url, true, why)
}

// openURL opens a store, which the user chose or which is the default.
func (a *app) openURL(ctx context.Context, url string, chosen bool, why purpose) (selvage.Store, error) {
	path, local := localPath(url)
	if local && offered(url, path) {
		if err := a.checkPath(path, chosen, why); err != nil {
			return nil, err
		}
	}
	open := stores.Open
	if why != forWriting {
		open = stores.OpenExisting
	}
	store, err := open(ctx, url)
	if err != nil {
		return nil, a.explainOpen(url, err)
	}
	return store, nil
}

// storeURL resolves what was chosen: the default, a name of the
// configuration, or what stands there.
func (a *app) storeURL() (string, error) {
	v := a.conf.Get("store")
	if !v.Set() {
		home, err := a.home()
		if err != nil {
			return "", err
		}
		return a.defaultStore(home), nil
	}
	return a.resolveStore(v.Text)
}

// resolveStore turns what somebody typed into a URL: a name of the
// configuration, a path from here, or what stands there.
func (a *app) resolveStore(url string) (string, error) {
	if name, named := strings.CutPrefix(url, "@"); named {
		configured := a.conf.Get("stores." + name)
		if !configured.Set() {
			return "", a.noSuchStore(name)
		}
		url = configured.Text
	}
	if path, local := localPath(url); local && !filepath.IsAbs(path) {
		scheme, trail := url[:len(url)-len(path)], ""
		if strings.HasSuffix(path, "/") {
			trail = "/"
		}
		url = scheme + a.path(path) + trail
	}
	return url, nil
}

func (a *app) noSuchStore(name string) error {
	var names []string
	for _, v := range a.conf.All() {
		if n, ok := strings.CutPrefix(v.Key, "stores."); ok {
			names = append(names, n)
		}
	}
	hint := "name it under stores: in your selvage.yaml"
	if nearest := settings.Nearest(name, names); nearest != "" {
		hint = fmt.Sprintf("did you mean @%s?", nearest)
	}
	return usage(hint, "no store is named @%s", name)
}

// localPath returns the path of a store that is a file or a folder here.
func localPath(url string) (string, bool) {
	for _, scheme := range []string{"sqlite:", "file:"} {
		if path, ok := strings.CutPrefix(url, scheme); ok {
			return path, true
		}
	}
	if scheme, _, ok := strings.Cut(url, ":"); ok && len(scheme) > 1 && !strings.ContainsAny(scheme, "/.") {
		return "", false
	}
	return url, true
}

// offered reports whether this program opens files named like that. What it
// does not open is refused with what it does, whether or not it is there.
func offered(url, path string) bool {
	return !strings.HasPrefix(url, "file:") && (url != path || strings.EqualFold(filepath.Ext(path), ".db"))
}

// checkPath makes sure that opening a store for reading makes no file, and
// that the home exists before a file is made in it.
func (a *app) checkPath(path string, chosen bool, why purpose) error {
	_, err := os.Stat(path)
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return &failure{exit: exitUnreachable, class: "unavailable", err: fmt.Errorf("store %s: %w", path, cause(err)), hint: "check the path and its permissions"}
	case why == forWriting && !chosen:
		home, err := a.home()
		if err != nil {
			return err
		}
		return makeHome(home)
	case why == forWriting:
		return nil
	case !chosen:
		return hinted(errNoStore, fmt.Sprintf("`%s chat` begins a first thread", a.name))
	default:
		return hinted(fmt.Errorf("store %s: %w", path, errMissing), "check the path; `"+a.name+" chat --store PATH` makes a new store")
	}
}

// explainOpen says what can be done about a store that does not open.
func (a *app) explainOpen(url string, err error) error {
	shown := settings.Redact(url)
	path, local := localPath(url)
	if info, statErr := os.Stat(path); local && !strings.HasPrefix(url, "file:") && !strings.HasSuffix(url, "/") && statErr == nil && info.IsDir() {
		return usage("name a file, such as "+filepath.Join(path, "app.db"), "store %s is a directory, not a database", shown)
	}
	a.log.Debug("store not opened", "store", shown, "err", err)
	switch {
	case errors.Is(err, selvage.ErrCorrupt) && local && !isDatabase(path):
		return hinted(fmt.Errorf("store %s is not a database: %w", shown, selvage.ErrCorrupt), "check the path; nothing was changed")
	case errors.Is(err, selvage.ErrCorrupt):
		return hinted(err, "keep the file, and open a backup of it; nothing was changed")
	case !local && isServer(url):
		return a.explainServer(shown, err)
	case errors.Is(err, selvage.ErrUnsupported) && (!local || !offered(url, path)):
		f := classify(err)
		f.exit = exitUsage
		return f
	case errors.Is(err, selvage.ErrUnsupported):
		return hinted(err, fmt.Sprintf("%s may be too old for it: `%s version`; nothing was changed", a.name, a.name))
	case errors.Is(err, fs.ErrPermission):
		return &failure{exit: exitUnreachable, class: "unavailable", err: err, hint: "check the permissions of the file and its folder"}
	default:
		return err
	}
}

// isServer reports whether a URL is that of a PostgreSQL server.
func isServer(url string) bool {
	scheme, _, _ := strings.Cut(url, ":")
	return scheme == "postgres" || scheme == "postgresql"
}

// explainServer says what can be done about a server that opens no store.
func (a *app) explainServer(shown string, err error) error {
	switch {
	case errors.Is(err, selvage.ErrNotFound):
		return hinted(fmt.Errorf("store %s: %w", shown, errMissing), "`"+a.name+" chat --store URL` makes a new store in the database")
	case errors.Is(err, selvage.ErrUnavailable):
		return hinted(err, "check that the server runs and takes connections, and host, port, user, password and database of the URL")
	case errors.Is(err, selvage.ErrUnsupported):
		return hinted(err, fmt.Sprintf("%s may be too old for it: `%s version`; nothing was changed", a.name, a.name))
	default:
		return err
	}
}

// isDatabase reports whether a file begins as a SQLite database does.
func isDatabase(path string) bool {
	const magic = "SQLite format 3\x00"
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // it was only read
	head := make([]byte, len(magic))
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == magic
}
