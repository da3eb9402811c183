package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
)

func (a *app) completionCommand() *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use: "completion SHELL", Short: "Print a completion script for bash, zsh, fish or powershell",
		Long: `Print a completion script. For bash, in ~/.bashrc:

  source <(selvage completion bash)`,
		ValidArgs: shells, Args: exactly(1, "the name of a shell"),
		Annotations: map[string]string{configAnnotation: configOptional},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch root := cmd.Root(); args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.out, true)
			case "zsh":
				return root.GenZshCompletion(a.out)
			case "fish":
				return root.GenFishCompletion(a.out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.out)
			default:
				return usage("use "+strings.Join(shells, ", "), "%q is not a shell this knows", args[0])
			}
		},
	}
}

// completeThreads offers the ids of the threads that were updated last.
func (a *app) completeThreads(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 || a.prepare(cmd) != nil {
		return nil, none
	}
	store, err := a.openStore(cmd.Context(), forReading)
	if err != nil {
		return nil, none
	}
	defer func() { _ = store.Close() }() // nothing was written
	page, err := store.Threads(cmd.Context(), selvage.ThreadQuery{Order: selvage.ByUpdated})
	if err != nil {
		return nil, none
	}
	var ids []string
	for _, t := range page.Items {
		if strings.HasPrefix(string(t.ID), begun) {
			ids = append(ids, string(t.ID)+"\t"+oneLine(t.Title))
		}
	}
	return ids, none | cobra.ShellCompDirectiveKeepOrder
}
