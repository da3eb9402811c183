package cli

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/selvagehq/selvage/internal/settings"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// app is one call of [Main]: what the commands share.
type app struct {
	name    string
	version versionInfo
	tools   []tool.Tool
	args    []string
	env     []string
	lookup  func(name string) (string, bool)
	dir     string
	stdin   io.Reader
	out     *stream
	err     *stream
	flags   globalFlags
	conf    *settings.Settings // what prepare resolved
	confErr error              // why the files do not count, for commands that go on without
	log     *slog.Logger
	servers *servers
	told    []string // what waits to be told; see tell

	recordings recordings
	metered    *metered // nil until a run is counted
	observe    []runner.Observer
}

func newApp(opts Options) (*app, error) {
	a := &app{name: opts.Name, tools: opts.Tools, observe: opts.Observers, args: opts.Args, dir: opts.Dir, stdin: opts.Stdin, log: slog.New(slog.DiscardHandler), servers: &servers{}}
	if a.name == "" {
		a.name = "selvage"
	}
	if a.args == nil {
		a.args = os.Args[1:]
	}
	if a.stdin == nil {
		a.stdin = os.Stdin
	}
	stdout, stderr := opts.Stdout, opts.Stderr
	if stdout == nil {
		stdout = os.Stdout
	}
	if stderr == nil {
		stderr = os.Stderr
	}
	a.out, a.err = newStream(stdout), newStream(stderr)
	env := opts.Env
	if env == nil {
		env = os.Environ()
	}
	a.env, a.lookup = env, lookupIn(env)
	a.version = versionOf(opts.Version, opts.Commit)
	var err error
	if a.dir == "" {
		a.dir, err = os.Getwd()
	} else {
		a.dir, err = filepath.Abs(a.dir)
	}
	if err != nil {
		return a, fmt.Errorf("find the working directory: %w", err)
	}
	return a, nil
}

// lookupIn looks names up in "NAME=value" entries, of which the last counts.
func lookupIn(env []string) func(string) (string, bool) {
	values := make(map[string]string, len(env))
	for _, entry := range env {
		if name, value, ok := strings.Cut(entry, "="); ok {
			values[name] = value
		}
	}
	return func(name string) (string, bool) { value, ok := values[name]; return value, ok }
}

// globalFlags are those of every command.
type globalFlags struct {
	store, output, logLevel, logFormat string
	json, quiet, noColor, incognito    bool
}

func (a *app) addGlobalFlags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVar(&a.flags.store, "store", "", "where threads are kept: a `PATH`, memory: or @NAME")
	f.StringVarP(&a.flags.output, "output", "o", "", "`FORMAT` of results: table, json or jsonl")
	f.BoolVar(&a.flags.json, "json", false, "the same as --output json")
	f.BoolVarP(&a.flags.quiet, "quiet", "q", false, "only ids, and nothing that is not asked for")
	f.BoolVar(&a.flags.noColor, "no-color", false, "no colour, even on a terminal")
	f.StringVar(&a.flags.logLevel, "log-level", "", "least severe log `LEVEL` on stderr: debug, info, warn or error")
	f.StringVar(&a.flags.logFormat, "log-format", "", "`FORMAT` of log records: text or json")
}

// What a command says about the configuration it runs with.
const (
	configAnnotation = "config"
	configOptional   = "optional" // go on without files that cannot be read
)

// checkValues refuses flags that name something and name nothing: an empty
// variable of a script must not choose another thread or model.
func checkValues(cmd *cobra.Command) error {
	for _, name := range []string{"thread", "model", "record", "user", "agent", "store"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed && f.Value.String() == "" {
			return usage("leave --"+name+" out, or give it one", `--%s needs a value, and "" is none`, name)
		}
	}
	return nil
}

// prepare resolves the configuration before a command runs.
func (a *app) prepare(cmd *cobra.Command) error {
	if err := checkValues(cmd); err != nil {
		return err
	}
	in := settings.Inputs{Dir: a.dir, UserDir: settings.UserDir(a.lookup), LookupEnv: a.lookup, LookupFlag: a.lookupFlag(cmd), Trusted: a.trusts}
	a.conf, a.confErr = settings.Load(in)
	if a.confErr != nil {
		if cmd.Annotations[configAnnotation] != configOptional {
			return a.confErr
		}
		in.SkipFiles = true
		var err error
		if a.conf, err = settings.Load(in); err != nil {
			in.LookupEnv = nil
			if a.conf, err = settings.Load(in); err != nil {
				return err
			}
		}
	}
	a.dress()
	a.log = a.newLog()
	if a.confErr == nil && cmd.Annotations[configAnnotation] != configOptional {
		return a.checkAgentNames()
	}
	return nil
}

// trusts reports whether the user trusts a directory. Without a home nothing
// can have been trusted.
func (a *app) trusts(dir string) (bool, error) {
	home, err := a.home()
	if err != nil {
		return false, nil
	}
	return trustIn(home).Has(dir)
}

// home returns the folder of the user's data, which need not exist.
func (a *app) home() (string, error) {
	home, err := settings.Home(a.lookup, a.dir)
	if err != nil {
		return "", usage("set SELVAGE_HOME to a folder of yours", "%v", err)
	}
	return home, nil
}

// lookupFlag finds the flag that sets a key: the key's name with dashes.
func (a *app) lookupFlag(cmd *cobra.Command) func(key string) (string, string, bool) {
	return func(key string) (string, string, bool) {
		name := strings.NewReplacer("_", "-", ".", "-").Replace(key)
		switch {
		case key == "output" && a.flags.json:
			return "json", "--json", true
		case key == "color" && a.flags.noColor:
			return "never", "--no-color", true
		case key == "tools.use":
			name = "tool"
		case key == "fallbacks":
			name = "fallback"
		case key == "caps":
			name = "cap"
		case key == "context.summarise":
			name = "summarise"
		case key == "memory_mode" && a.flags.incognito:
			return "incognito", "--incognito", true
		}
		flag := cmd.Flags().Lookup(name)
		if flag == nil || !flag.Changed {
			return "", "", false
		}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			separator := ","
			if key == "stop_on_text" {
				separator = "\n"
			}
			return strings.Join(list.GetSlice(), separator), "--" + name, true
		}
		return flag.Value.String(), "--" + name, true
	}
}

// dress decides about colour.
func (a *app) dress() {
	when := a.conf.Get("color").Text
	plain, _ := a.lookup("NO_COLOR")
	terminal, _ := a.lookup("TERM")
	for _, s := range []*stream{a.out, a.err} {
		s.style.on = when == "always" || when == "auto" && s.terminal && plain == "" && terminal != "dumb"
	}
}

// newLog returns the logger that everything below is given.
func (a *app) newLog() *slog.Logger {
	var level slog.Level
	// The text was checked when it was read.
	_ = level.UnmarshalText([]byte(a.conf.Get("log.level").Text))
	switch {
	case a.conf.Get("log.format").Text == "json":
		return slog.New(slog.NewJSONHandler(a.err, &slog.HandlerOptions{Level: level}))
	case a.err.terminal:
		return slog.New(tint.NewTextHandler(a.err, &tint.Options{Level: level, NoColor: !a.err.style.on}))
	default:
		return slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: level}))
	}
}
