package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionInfo is what the version command prints.
type versionInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified"` // built from a tree with uncommitted changes
	Go       string `json:"go"`
	SQLite   string `json:"sqlite,omitempty"` // version of the driver module
	Platform string `json:"platform"`
}

// sqliteModule is the module whose version says which SQLite is inside.
const sqliteModule = "modernc.org/sqlite"

// versionOf completes what the program says by what the Go build recorded.
func versionOf(version, commit string) versionInfo {
	v := versionInfo{Version: version, Commit: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
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
		RunE: func(*cobra.Command, []string) error {
			v := &a.version
			switch {
			case a.format() == formatJSON:
				a.out.json(v)
			case a.format() == formatLines:
				a.out.jsonLine(v)
			case a.flags.quiet:
				a.out.line("%s", v.Version)
			default:
				a.out.line("%s %s", a.name, v.Version)
				a.fields([][2]string{{"commit", v.commit()}, {"go", v.Go}, {"sqlite", v.SQLite}, {"platform", v.Platform}})
			}
			return nil
		},
	}
}

func (v *versionInfo) commit() string {
	if v.Commit != "" && v.Modified {
		return fmt.Sprintf("%s (modified)", v.Commit)
	}
	return v.Commit
}
