package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	sqlite3 "modernc.org/sqlite/lib"
)

// versionInfo is what the version command prints.
type versionInfo struct {
	Version       string `json:"version"`
	Commit        string `json:"commit,omitempty"`
	Modified      bool   `json:"modified"` // built from a tree with uncommitted changes
	Go            string `json:"go"`
	SQLite        string `json:"sqlite,omitempty"` // version of the driver module
	SQLiteLibrary string `json:"sqlite_library"`   // version of SQLite itself
	Platform      string `json:"platform"`
}

// sqliteModule is the module whose version says which driver is inside.
const sqliteModule = "modernc.org/sqlite"

// versionOf completes what the program says by what the Go build recorded.
func versionOf(version, commit string) versionInfo {
	v := versionInfo{SQLiteLibrary: sqlite3.SQLITE_VERSION, Version: version, Commit: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	build, ok := debug.ReadBuildInfo()
	if ok {
		if v.Version == "" && build.Main.Version != "(devel)" {
			v.Version = build.Main.Version
		}
		for _, s := range build.Settings {
			switch s.Key {
			case "vcs.revision":
				if v.Commit == "" {
					v.Commit = s.Value
				}
			case "vcs.modified":
				v.Modified = s.Value == "true"
			}
		}
		for _, m := range build.Deps {
			if m.Path == sqliteModule {
				v.SQLite = m.Version
			}
		}
	}
	if v.Version == "" {
		v.Version = "dev"
	}
	return v
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArguments,
		Annotations: map[string]string{configAnnotation: configOptional},
		RunE:        func(*cobra.Command, []string) error { return a.printVersion() },
	}
}

func (a *app) printVersion() error {
	v := &a.version
	return a.show(v, func() {
		if a.flags.quiet {
			a.out.line("%s", v.Version)
			return
		}
		a.out.line("%s %s", a.name, v.Version)
		a.fields([][2]string{{"commit", v.commit()}, {"go", v.Go}, {"sqlite", v.sqlite()}, {"platform", v.Platform}})
	})
}

// sqlite tells the library and the driver that holds it.
func (v *versionInfo) sqlite() string {
	if v.SQLite == "" {
		return v.SQLiteLibrary
	}
	return fmt.Sprintf("%s (driver %s)", v.SQLiteLibrary, v.SQLite)
}

func (v *versionInfo) commit() string {
	if v.Commit != "" && v.Modified {
		return fmt.Sprintf("%s (modified)", v.Commit)
	}
	return v.Commit
}
