package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
)

func (a *app) threadMessagesCommand() *cobra.Command {
	var (
		p          pages
		at         version
		run        string
		visibility string
		reverse    bool
	)
	cmd := &cobra.Command{
		Use: "messages ID", Short: "List the messages of a thread, the first first", Args: exactly(1, "the id of a thread"), ValidArgsFunction: a.completeThreads,
		RunE: a.onThread(func(ctx context.Context, store selvage.Store, id selvage.ThreadID) error {
			filter, err := visibilityFilter(visibility)
			if err != nil {
				return err
			}
			q := selvage.MessageQuery{At: at.v, Order: orderOf(reverse), RunID: selvage.RunID(run), Visibility: filter}
			list := a.messageListing()
			list.fetch = func(ctx context.Context, limit *int, cursor selvage.Cursor) ([]selvage.Message, selvage.Cursor, error) {
				q.Limit, q.Cursor = limit, cursor
				page, err := store.Messages(ctx, id, q)
				return page.Items, page.Next, notReached(ctx, store, id, at.v, err)
			}
			return list.print(ctx, a, &p)
		}),
	}
	f := cmd.Flags()
	f.Var(&at, "at", "as of this `VERSION`")
	f.StringVar(&run, "run", "", "only messages of this `RUN`")
	f.StringVar(&visibility, "visibility", "external", "`WHICH` messages: all, external (what the user sees) or internal")
	f.BoolVar(&reverse, "reverse", false, "the last message first")
	p.register(cmd)
	return cmd
}

func visibilityFilter(text string) (selvage.VisibilityFilter, error) {
	switch f := selvage.VisibilityFilter(text); f {
	case selvage.ShowAll, selvage.ShowExternal, selvage.ShowInternal:
		return f, nil
	}
	return "", usage("use all, external or internal", "--visibility: %q is not one", text)
}

func (a *app) messageListing() listing[selvage.Message] {
	return listing[selvage.Message]{
		id:   func(m *selvage.Message) string { return m.ID },
		item: func(m *selvage.Message) any { return m },
		prose: func(messages []selvage.Message) {
			for i := range messages {
				a.printMessage(&messages[i])
			}
		},
	}
}

// printMessage writes a message for people: who, then what, indented.
func (a *app) printMessage(m *selvage.Message) {
	who := string(m.Role)
	if m.Internal() {
		who += " (internal)"
	}
	text := indent(clean(strings.TrimRight(describe(m), "\n")), 6)
	a.out.line("%s %s", a.out.style.dim(pad(fmt.Sprintf("%d", m.Seq), 5)), a.out.style.bold(who))
	a.out.line("%s", text)
}

// describe writes what is in a message as text.
func describe(m *selvage.Message) string {
	var parts []string
	if m.Erased {
		parts = append(parts, "[erased]")
	}
	for i := range m.Content {
		switch p := &m.Content[i]; p.Type {
		case selvage.PartText:
			parts = append(parts, p.Text)
		case selvage.PartReasoning:
			parts = append(parts, "[reasoning] "+p.Text)
		case selvage.PartData:
			parts = append(parts, string(p.Value))
		default:
			parts = append(parts, fmt.Sprintf("[%s %s %s]", p.Type, p.MediaType, p.Name))
		}
	}
	if used, edited := m.Metadata[runner.MetadataArguments]; edited {
		parts = append(parts, fmt.Sprintf("[run with %s instead]", used))
	}
	for _, c := range m.ToolCalls {
		parts = append(parts, fmt.Sprintf("[calls %s %s]", c.Name, c.Arguments))
	}
	return strings.Join(parts, "\n")
}

func indent(text string, by int) string {
	margin := strings.Repeat(" ", by)
	return margin + strings.ReplaceAll(text, "\n", "\n"+margin)
}
