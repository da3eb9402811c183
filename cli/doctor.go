package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/settings"
)

// verdict is what a check came to.
type verdict string

const (
	fine  verdict = "ok"
	worth verdict = "warn" // worth knowing, nothing is broken
	broke verdict = "fail" // needs a hand
)

// finding is one check of doctor.
type finding struct {
	Check  string  `json:"check"`
	Status verdict `json:"status"`
	Detail string  `json:"detail"`
	Hint   string  `json:"hint"`
}

// doctorDocument is the report in JSON.
type doctorDocument struct {
	OK     bool      `json:"ok"` // nothing needs a hand
	Checks []finding `json:"checks"`
}

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Check home, configuration, store, models, clock, permissions and versions", Args: noArguments,
		Long:        "Check what Selvage needs. Nothing is changed. Exits 1 if something needs a hand.",
		Annotations: map[string]string{configAnnotation: configOptional},
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := &doctorDocument{OK: true}
			now := time.Now()
			d.add(a.checkHome(), a.checkConfig())
			d.add(a.checkStore(cmd.Context(), now)...)
			d.add(a.checkModels(), checkClock(now), a.checkVersions())
			err := a.show(d, func() { a.printFindings(d) })
			if err == nil && !d.OK {
				return &failure{exit: exitFailed, class: "unhealthy", err: errors.New("something needs a hand"), hint: "each failed check says what to do"}
			}
			return err
		},
	}
}

func (d *doctorDocument) add(findings ...finding) {
	for _, f := range findings {
		d.OK = d.OK && f.Status != broke
		d.Checks = append(d.Checks, f)
	}
}

func (a *app) printFindings(d *doctorDocument) {
	for _, f := range d.Checks {
		if a.flags.quiet && f.Status != broke {
			continue
		}
		status := pad(string(f.Status), 4)
		if f.Status != fine {
			status = a.out.style.red(status)
		}
		a.out.line("%s  %s  %s", status, pad(f.Check, 13), oneLine(f.Detail))
		if f.Hint != "" {
			a.out.line("%s%s", pad("", 21), oneLine(f.Hint))
		}
	}
}

func (a *app) checkHome() finding {
	home, err := a.home()
	if err != nil {
		return finding{"home", broke, err.Error(), "set SELVAGE_HOME to a folder of yours"}
	}
	info, err := os.Stat(home)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return finding{"home", fine, home + " does not exist yet; the first conversation makes it", ""}
	case err != nil:
		return finding{"home", broke, fmt.Sprintf("%s: %v", home, cause(err)), "check the permissions of the folders above it"}
	case !info.IsDir():
		return finding{"home", broke, home + " is not a directory", "move the file away, or set SELVAGE_HOME"}
	case info.Mode().Perm()&0o077 != 0:
		return finding{"home", broke, fmt.Sprintf("%s can be read by others (mode %04o)", home, info.Mode().Perm()), "chmod 700 " + quote(home)}
	}
	if err := writable(home); err != nil {
		return finding{"home", broke, fmt.Sprintf("%s cannot be written: %v", home, cause(err)), "check its owner and that the disk is not full"}
	}
	return finding{"home", fine, home, ""}
}

// writable tries to make a file in a folder, and removes it.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	err = fill(f)
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// probeBytes is how much room there has to be.
const probeBytes = 1 << 20

// fill writes to a file and waits until the disk has it.
func fill(f *os.File) error {
	_, err := f.Write(make([]byte, probeBytes))
	if err == nil {
		err = f.Sync()
	}
	return err
}

// checkRoom makes sure that the folder of a store takes more.
func checkRoom(url string) finding {
	path, local := localPath(url)
	if !local {
		return finding{"room", fine, "the store is no file here", ""}
	}
	dir := filepath.Dir(path)
	if err := writable(dir); err != nil {
		return finding{"room", broke, fmt.Sprintf("%s takes nothing more: %v", dir, cause(err)), "make room on its disk, and check who owns it: nothing new can be kept"}
	}
	return finding{"room", fine, dir + " takes more", ""}
}

func (a *app) checkConfig() finding {
	if a.confErr != nil {
		var fault *settings.Error
		hint := "correct the file"
		if errors.As(a.confErr, &fault) && fault.Hint != "" {
			hint = fault.Hint
		}
		return finding{"configuration", broke, a.confErr.Error(), hint}
	}
	found := 0
	for _, f := range a.conf.Files {
		if f.Found {
			found++
		}
	}
	if n := len(a.conf.Ignored); n > 0 {
		k := a.conf.Ignored[0]
		return finding{"configuration", worth, fmt.Sprintf("%s:%d: %s does not count, nor do %d others: the directory is not trusted", k.File, k.Line, k.Key, n-1),
			fmt.Sprintf("%s trust %s, if it is yours", a.name, quote(filepath.Dir(k.File)))}
	}
	return finding{"configuration", fine, fmt.Sprintf("%d files read", found), ""}
}

func (a *app) checkStore(ctx context.Context, now time.Time) []finding {
	url, err := a.storeURL()
	if err != nil {
		return []finding{{"store", broke, err.Error(), classify(err).hint}}
	}
	store, err := a.openStore(ctx, forReading)
	if noStoreYet(err) {
		return []finding{{"store", fine, url + " does not exist yet; the first conversation makes it", ""}}
	}
	if err != nil {
		hint := classify(err).hint
		if strings.Contains(hint, "selvage doctor") {
			hint = "check the path, its permissions, and that its disk is there and not full"
		}
		return []finding{{"store", broke, err.Error(), hint}}
	}
	findings := []finding{a.checkIntegrity(ctx, store, url), checkAge(ctx, store, now)}
	if server, ok := selvage.As[selvage.Pinger](store); ok {
		findings = append(findings, checkServer(ctx, server)...)
	} else {
		findings = append(findings, checkFile(url), checkRoom(url))
	}
	if err := store.Close(); err != nil {
		findings[0] = finding{"store", broke, "it does not close: " + err.Error(), ""}
	}
	return findings
}

func (a *app) checkIntegrity(ctx context.Context, store selvage.Store, url string) finding {
	shown := settings.Redact(url)
	checker, ok := selvage.As[selvage.Checker](store)
	if !ok {
		return finding{"store", fine, shown + " opens", ""}
	}
	if err := checker.CheckIntegrity(ctx); err != nil {
		return finding{"store", broke, fmt.Sprintf("%s: %v", shown, err), "keep a copy of the file; " + a.name + " thread verify ID tells which threads are whole"}
	}
	return finding{"store", fine, shown + " opens, its files are in order", ""}
}

// checkAge compares the clock with what was written last.
func checkAge(ctx context.Context, store selvage.Store, now time.Time) finding {
	one := 1
	page, err := store.Threads(ctx, selvage.ThreadQuery{Order: selvage.ByUpdated, Limit: &one})
	switch {
	case err != nil:
		return finding{"threads", broke, err.Error(), ""}
	case len(page.Items) == 0:
		return finding{"threads", fine, "none yet", ""}
	case page.Items[0].UpdatedAt.After(now.Add(time.Minute)):
		return finding{"threads", worth, fmt.Sprintf("the last change is of %s, which is yet to come", moment(page.Items[0].UpdatedAt)),
			"the clock of this machine may be wrong; order does not depend on it, leases do"}
	}
	return finding{"threads", fine, "last change " + moment(page.Items[0].UpdatedAt), ""}
}

// checkFile looks at who may read the file of a store.
func checkFile(url string) finding {
	path, local := localPath(url)
	_, err := os.Stat(path)
	if !local || err != nil {
		return finding{"permissions", fine, "the store is no file here", ""}
	}
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil || dir.Mode().Perm()&0o077 == 0 {
		return finding{"permissions", fine, "the store is private", ""}
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if info, err := os.Stat(name); err == nil && info.Mode().Perm()&0o077 != 0 {
			return finding{"permissions", worth, fmt.Sprintf("%s can be read by others (mode %04o)", name, info.Mode().Perm()), "chmod 600 " + quote(name) + ", if it is nobody else's business"}
		}
	}
	return finding{"permissions", fine, "the store is private", ""}
}

// built is a time at which this program was written; a clock before it is wrong.
func built() time.Time { return time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC) }

func checkClock(now time.Time) finding {
	if now.Before(built()) {
		return finding{"clock", broke, "it says " + moment(now), "set the clock of this machine"}
	}
	return finding{"clock", fine, moment(now), ""}
}

func (a *app) checkVersions() finding {
	v := &a.version
	return finding{"versions", fine, fmt.Sprintf("%s %s, %s, sqlite %s, %s", a.name, v.Version, v.Go, v.sqlite(), v.Platform), ""}
}
