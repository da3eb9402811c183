package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// blamedValue is a value of a state document, and what set it.
type blamedValue struct {
	Path  state.Pointer `json:"path"`
	Value state.Value   `json:"value"`
	// Known is false for a value that was set before the history that is kept.
	Known   bool                `json:"known"`
	Version selvage.Version     `json:"version,omitempty"`
	Change  string              `json:"change_id,omitempty"`
	Reason  selvage.Reason      `json:"reason,omitempty"`
	At      string              `json:"at,omitempty"`
	RunID   selvage.RunID       `json:"run_id,omitempty"`
	Source  string              `json:"source,omitempty"`  // who made the patch
	Message *blamedMessage      `json:"message,omitempty"` // that came with the change: a tool's result, or what was said
	Call    *blamedCall         `json:"call,omitempty"`    // the tool call it was a result of
	Origin  *selvage.ForkOrigin `json:"forked_from,omitempty"`
}

// blamedMessage names a message.
type blamedMessage struct {
	ID   string       `json:"id"`
	Seq  int64        `json:"seq"`
	Role selvage.Role `json:"role"`
}

// blamedCall names a tool call.
type blamedCall struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
}

func (a *app) threadBlameCommand() *cobra.Command {
	var at version
	var all bool
	cmd := &cobra.Command{
		Use: "blame ID [/PATH]", Short: "Tell which change set each value of the state", ValidArgsFunction: a.completeThreads,
		Long: `Tell for each value at and below a path of the state document which change set
it, with the message and the tool call that came with it. What rewinds hid is
passed over. What runs keep in the state for themselves is told of only with
--all, or when the path names it.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 || len(args) == 2 {
				return nil
			}
			return usage("usage: "+cmd.UseLine(), "it takes the id of a thread and a path, not %d arguments", len(args))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			path := state.Pointer("")
			if len(args) == 2 {
				var err error
				if path, err = state.ParsePointer(args[1]); err != nil {
					return usage("a path begins with /, and / and ~ in names are ~1 and ~0", "%v", err)
				}
			}
			return a.onThread(func(ctx context.Context, store selvage.Store, id selvage.ThreadID) error {
				values, err := blame(ctx, store, id, path, at.v, all)
				if err != nil {
					return notReached(ctx, store, id, at.v, err)
				}
				return a.printBlame(values)
			})(cmd, args[:1])
		},
	}
	cmd.Flags().Var(&at, "at", "as of this `VERSION`")
	flagAllKeys(cmd, &all)
	return cmd
}

func (a *app) printBlame(values []*blamedValue) error {
	list := listing[*blamedValue]{
		id:   func(v **blamedValue) string { return string((*v).Path) },
		item: func(v **blamedValue) any { return *v },
		prose: func(values []*blamedValue) {
			rows := make([][]string, len(values))
			for i, v := range values {
				rows[i] = []string{string(v.Path), shorten(v.Value.String(), 40), v.Version.String(), v.At, string(v.Reason), blamedBy(v)}
				if !v.Known {
					rows[i] = []string{string(v.Path), shorten(v.Value.String(), 40), "", "", "", "before the history that is kept"}
				}
			}
			a.table([]string{"PATH", "VALUE", "VERSION", "AT", "REASON", "BY"}, rows)
		},
	}
	list.emitAll(a, values)
	return nil
}

// emitAll prints a list that is complete.
func (l *listing[T]) emitAll(a *app, items []T) { l.finish(a, l.emit(a, nil, items), "") }

// blamedBy is who set a value, for people.
func blamedBy(v *blamedValue) string {
	parts := []string{}
	if v.Source != "" {
		parts = append(parts, v.Source)
	}
	if v.Call != nil {
		parts = append(parts, "call "+v.Call.ID)
	}
	if v.Message != nil {
		parts = append(parts, fmt.Sprintf("message %d (%s)", v.Message.Seq, v.Message.Role))
	}
	if v.RunID != "" {
		parts = append(parts, "run "+string(v.RunID))
	}
	if v.Origin != nil {
		parts = append(parts, fmt.Sprintf("forked from %s at version %d", v.Origin.ID, v.Origin.Version))
	}
	return strings.Join(parts, ", ")
}

// shorten cuts a text that is long.
func shorten(text string, to int) string {
	runes := []rune(text)
	if len(runes) <= to {
		return text
	}
	return string(runes[:to-1]) + "…"
}
