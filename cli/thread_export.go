package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/fixture"
	"github.com/selvagehq/selvage/store/transfer"
)

func (a *app) threadExportCommand() *cobra.Command {
	var form string
	var at version
	var all bool
	cmd := &cobra.Command{
		Use: "export ID", Short: "Write a thread to stdout: its log, state, transcript or proof", Args: exactly(1, "the id of a thread"), ValidArgsFunction: a.completeThreads,
		Long: `Write a thread to stdout.

  jsonl     its log: a header, then one change a line; ` + "`thread import`" + ` reads it
  state     its state document
  markdown  its transcript, for people
  proof     its transcript and what proves it, erased parts included, as one
            JSON document; ` + "`thread verify --proof FILE`" + ` needs no store
  fixture   what its runs did, as one JSON document that selvagetest.Replay
            leads again without network, models and effects`,
		RunE: a.onThread(func(ctx context.Context, store selvage.Store, id selvage.ThreadID) error {
			switch form {
			case "jsonl", "proof", "fixture":
				if at.v != 0 {
					return usage("leave --at out", "--at: a %s goes to the end of the log", form)
				}
			}
			switch form {
			case "jsonl":
				_, err := transfer.WriteLog(ctx, store, id, a.out)
				return err
			case "state":
				doc, err := store.State(ctx, id, at.v)
				if err != nil {
					return notReached(ctx, store, id, at.v, err)
				}
				if !all {
					doc = doc.Own()
				}
				a.out.json(doc)
				return nil
			case "markdown":
				return a.exportMarkdown(ctx, store, id, at.v)
			case "proof":
				p, err := transfer.NewProof(ctx, store, id)
				if err != nil {
					return err
				}
				a.out.jsonLine(p)
				return nil
			case "fixture":
				f, err := fixture.Record(ctx, store, id)
				if err != nil {
					return err
				}
				return f.Write(a.out)
			default:
				return usage("use jsonl, state, markdown, proof or fixture", "--format: %q is not one", form)
			}
		}),
	}
	cmd.Flags().StringVar(&form, "format", "jsonl", "`WHAT` to write: jsonl, state, markdown, proof or fixture")
	cmd.Flags().Var(&at, "at", "state or transcript as of this `VERSION`")
	cmd.Flags().BoolVar(&all, "all", false, "of a state, with what runs keep in it")
	return cmd
}

// exportMarkdown writes what was said, without what only the model sees.
func (a *app) exportMarkdown(ctx context.Context, store selvage.Store, id selvage.ThreadID, at selvage.Version) error {
	none := 0
	head, err := store.Load(ctx, id, selvage.LoadOptions{Messages: &none})
	if err != nil {
		return err
	}
	title := head.Thread.Title
	if title == "" {
		title = string(id)
	}
	a.out.line("# %s", markdownLine(title))
	limit := selvage.MaxPage
	for q := (selvage.MessageQuery{At: at, Limit: &limit}); ; {
		page, err := store.Messages(ctx, id, q)
		if err != nil {
			return notReached(ctx, store, id, at, err)
		}
		for i := range page.Items {
			a.markdownMessage(&page.Items[i])
		}
		if q.Cursor = page.Next; q.Cursor == "" || a.out.err != nil {
			return nil
		}
	}
}

func (a *app) markdownMessage(m *selvage.Message) {
	a.out.line("\n## %s, %s\n", m.Role, moment(m.CreatedAt))
	if m.Erased {
		a.out.line("*erased*")
		return
	}
	if m.Role == selvage.RoleTool {
		// What a tool returns may be anything; as code it stays what it is.
		fence := fenceFor(describe(m))
		a.out.line("%s\n%s\n%s", fence, strings.TrimRight(describe(m), "\n"), fence)
		return
	}
	for i := range m.Content {
		if p := &m.Content[i]; p.Type == selvage.PartText {
			a.out.line("%s", strings.TrimRight(p.Text, "\n"))
		} else {
			part := selvage.Message{Content: selvage.Content{*p}}
			a.out.line("> %s", strings.ReplaceAll(strings.TrimRight(describe(&part), "\n"), "\n", "\n> "))
		}
	}
	for _, c := range m.ToolCalls {
		a.out.line("- calls `%s` with `%s`", c.Name, c.Arguments)
	}
}

// markdownLine keeps a text on the line of a heading.
func markdownLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// fenceFor is a fence of backticks longer than any in the text.
func fenceFor(text string) string {
	longest, run := 2, 0
	for _, r := range text {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return strings.Repeat("`", longest+1)
}

// verifyProof proves a file that `thread export --format proof` wrote.
func (a *app) verifyProof(path string) error {
	file, err := a.openInput(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	p, err := transfer.ReadProof(file)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := p.Verify(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	// What no hash covers has to be what the log adds up to.
	log := &proof{id: p.ID, fold: newFold()}
	for i := range p.Changes {
		if err := log.take(&p.Changes[i]); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	doc := &verifyDocument{ID: p.ID, OK: true, Version: p.Version, Hash: p.Hash, Changes: len(p.Changes), Messages: int64(len(p.Messages)),
		Erased: len(log.erased.lost), Compacted: log.compacted, Horizon: log.fold.head.Horizon}
	return a.show(doc, func() {
		if !a.flags.quiet {
			a.out.line("%s is proved: %d changes to version %d, %d messages, hash %s", p.ID, len(p.Changes), p.Version, len(p.Messages), p.Hash)
			a.out.line("it is the thread whose hash you were told at version %d, if that is this hash", p.Version)
			log.printGone(a)
		}
	})
}
