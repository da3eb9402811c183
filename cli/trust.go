package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage/internal/settings"
)

// trustFile is the file of the home that lists trusted directories.
const trustFile = "trust.json"

func trustIn(home string) settings.Trust {
	return settings.Trust{Path: filepath.Join(home, trustFile)}
}

func (a *app) trustCommand() *cobra.Command {
	var revoke, list bool
	cmd := &cobra.Command{
		Use: "trust [DIR]", Short: "Let the selvage.yaml of a directory grant power",
		Long: `A selvage.yaml in the working directory may come with a repository of somebody
else. What it says about tools, servers, addresses, credentials and stores
elsewhere counts only after you trust its directory. What is below the
directory is not trusted with it.`,
		Annotations: map[string]string{configAnnotation: configOptional},
		Args: func(cmd *cobra.Command, args []string) error {
			if list {
				return noArguments(cmd, args)
			}
			return exactly(1, "one directory")(cmd, args)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(_ *cobra.Command, args []string) error {
			home, err := a.home()
			switch {
			case err != nil:
				return err
			case list:
				return a.listTrusted(trustIn(home))
			case revoke:
				return a.revokeTrust(trustIn(home), args[0])
			default:
				return a.grantTrust(home, args[0])
			}
		},
	}
	cmd.Flags().BoolVar(&revoke, "revoke", false, "trust it no longer")
	cmd.Flags().BoolVar(&list, "list", false, "list the trusted directories")
	return cmd
}

func (a *app) grantTrust(home, dir string) error {
	dir = a.path(dir)
	info, err := os.Stat(dir)
	if err != nil {
		return &failure{exit: exitNotFound, class: "not_found", err: fmt.Errorf("%s: %w", dir, cause(err)), hint: "name a directory that exists"}
	}
	if !info.IsDir() {
		return usage("name the directory of the file", "%s is not a directory", dir)
	}
	if err := makeHome(home); err != nil {
		return err
	}
	real, err := trustIn(home).Add(dir)
	if err != nil {
		return err
	}
	return a.show(map[string]any{"directory": real, "trusted": true}, func() {
		a.note("%s is trusted from now on; %s trust --revoke %s ends that", real, a.name, quote(real))
	})
}

func (a *app) revokeTrust(trust settings.Trust, dir string) error {
	real, err := trust.Remove(a.path(dir))
	if err != nil {
		return err
	}
	return a.show(map[string]any{"directory": real, "trusted": false}, func() {
		a.note("%s is not trusted", real)
	})
}

func (a *app) listTrusted(trust settings.Trust) error {
	all, err := trust.Directories()
	if err != nil {
		return err
	}
	type entry struct {
		Directory string `json:"directory"`
	}
	entries := make([]entry, len(all))
	for i, dir := range all {
		entries[i].Directory = dir
	}
	switch a.format() {
	case formatJSON:
		a.out.json(documentOf(entries, func(e *entry) any { return e }, ""))
	case formatLines:
		for _, e := range entries {
			a.out.jsonLine(e)
		}
	default:
		for _, dir := range all {
			a.out.line("%s", oneLine(dir))
		}
	}
	return nil
}
