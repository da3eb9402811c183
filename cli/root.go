package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/selvagehq/selvage/internal/settings"
)

// rootCommand builds the tree of commands.
func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   a.name,
		Short: "Durable threads for AI agents",
		Long: `Selvage keeps the threads of AI agents: every message, state change and run is
in an append-only, hash-chained log that survives crashes, restarts and second
writers. Start with:  selvage chat`,
		Args:              cobra.ArbitraryArgs,
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return a.prepare(cmd) },
		Annotations:       map[string]string{configAnnotation: configOptional},
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	var version bool
	root.Flags().BoolVarP(&version, "version", "v", false, "print the version")
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if version && len(args) == 0 {
			return a.printVersion()
		}
		return unknownCommand(cmd, args)
	}
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetIn(a.stdin)
	root.SetGlobalNormalizationFunc(spellings)
	root.SetFlagErrorFunc(flagError)
	a.addGlobalFlags(root)
	root.AddCommand(
		a.chatCommand(), a.askCommand(), a.threadCommand(), a.runCommand(), a.storeCommand(), a.userCommand(),
		a.configCommand(), a.trustCommand(), a.doctorCommand(), a.benchCommand(),
		a.completionCommand(), a.versionCommand(),
	)
	root.SetHelpCommand(&cobra.Command{Use: "help [COMMAND]", Short: "Explain a command", Args: cobra.ArbitraryArgs,
		Annotations: map[string]string{configAnnotation: configOptional},
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(found, rest)
			}
			return found.Help()
		}})
	return root
}

// group is a command that only holds others.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs, RunE: unknownCommand,
		Annotations: map[string]string{configAnnotation: configOptional}}
	c.AddCommand(commands...)
	return c
}

// unknownCommand is what a group does: without arguments it explains itself,
// with some it has no such command.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	path := cmd.CommandPath()
	hint := fmt.Sprintf("`%s --help` lists the commands", path)
	if nearest := settings.Nearest(args[0], names); nearest != "" {
		hint = fmt.Sprintf("did you mean `%s %s`?", path, nearest)
	}
	return usage(hint, "%q is not a command of %s", args[0], path)
}

// spellings maps other spellings of flags to their names.
func spellings(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch name {
	case "thread-id":
		name = "thread"
	case "user-id":
		name = "user"
	}
	return pflag.NormalizedName(name)
}

// flagError explains a mistake in a flag.
func flagError(cmd *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		missing *pflag.ValueRequiredError
		invalid *pflag.InvalidValueError
	)
	help := fmt.Sprintf("`%s --help` lists the flags", cmd.CommandPath())
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return err
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		if unknown.GetSpecifiedShortnames() != "" {
			return usage(help, "-%s is not a flag of %s", name, cmd.CommandPath())
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if nearest := settings.Nearest(name, names); nearest != "" {
			help = fmt.Sprintf("did you mean --%s?", nearest)
		}
		return usage(help, "--%s is not a flag of %s", name, cmd.CommandPath())
	case errors.As(err, &missing):
		return usage(help, "--%s needs a value", missing.GetFlag().Name)
	case errors.As(err, &invalid):
		return usage(help, "--%s: %s", invalid.GetFlag().Name, plainReason(invalid))
	default:
		return usage(help, "%v", err)
	}
}

// plainReason leaves out what the standard library says about its parsers.
func plainReason(e *pflag.InvalidValueError) string {
	var ours *flagValueError
	if errors.As(e, &ours) {
		return ours.reason
	}
	return fmt.Sprintf("%q is not a %s", e.GetValue(), strings.TrimSuffix(e.GetFlag().Value.Type(), "Array"))
}

// exactly wants that many arguments.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return usage("usage: "+cmd.UseLine(), "it takes %s, not %d arguments", what, len(args))
	}
}

// noArguments wants none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usage("usage: "+cmd.UseLine(), "it takes no arguments, and %q is one", args[0])
}
