package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/settings"
)

const slashHelp = `/history   the messages of this thread
/state     its state document
/fork      go on in a copy of this thread; /fork ID names it
/rewind N  take back the last N turns; without N, the last one
/model     the model that answers; /model PROVIDER/NAME changes it
/help      this list
/exit      leave; everything is kept
A message that begins with / is written with two.`

// slashCommands are the commands of a conversation.
func slashCommands() []string {
	return []string{"end", "exit", "fork", "help", "history", "model", "quit", "rewind", "state"}
}

// command does what a line that began with / says. It reports whether the
// conversation is over.
func (c *conversation) command(ctx context.Context, text string) (leave bool, err error) {
	name, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	rest = strings.TrimSpace(rest)
	switch name {
	case "exit", "quit":
		return true, nil
	case "help":
		c.err.line("%s", slashHelp)
	case "state":
		err = c.showState(ctx)
	case "history":
		err = c.showHistory(ctx)
	case "model":
		err = c.changeModel(ctx, rest)
	case "fork":
		err = c.forkHere(ctx, rest)
	case "rewind":
		err = c.rewindTurns(ctx, rest)
	case "end":
		c.err.line("/%s is not offered yet. /exit leaves; everything is kept.", name)
	default:
		hint := "/help lists the commands"
		if nearest := settings.Nearest(name, slashCommands()); nearest != "" {
			hint = "did you mean /" + nearest + "?"
		}
		c.err.line("%s is not a command; %s", oneLine("/"+name), hint)
	}
	return false, err
}

// nothingYet reports whether err is that the thread does not exist yet.
func (c *conversation) nothingYet(err error) bool {
	if !errors.Is(err, selvage.ErrNotFound) {
		return false
	}
	c.err.line("nothing has been said yet")
	return true
}

func (c *conversation) showState(ctx context.Context) error {
	doc, err := c.store.State(ctx, c.id, 0)
	if err != nil {
		if c.nothingYet(err) {
			return nil
		}
		return err
	}
	doc = doc.Own()
	c.out.json(&doc)
	return nil
}

// showHistory prints the last messages.
func (c *conversation) showHistory(ctx context.Context) error {
	page, err := c.store.Messages(ctx, c.id, selvage.MessageQuery{Order: selvage.Descending})
	if err != nil {
		if c.nothingYet(err) {
			return nil
		}
		return err
	}
	if page.Next != "" {
		c.err.line("the last %d; all of them: %s", len(page.Items), c.again("thread", "messages", quote(string(c.id)), "--all"))
	}
	for i := len(page.Items) - 1; i >= 0; i-- {
		c.printMessage(&page.Items[i])
	}
	return nil
}

// changeModel lets another model answer from the next turn on.
func (c *conversation) changeModel(ctx context.Context, name string) error {
	if name == "" {
		c.err.line("%s", c.made.model)
		return nil
	}
	next := c.made
	next.model = name
	r, err := c.runnerOf(ctx, &next, c.conf.Get("agent").Text, c.active)
	if err != nil {
		return fmt.Errorf("/model: %w", err)
	}
	c.made, c.runner = next, r
	c.err.line("%s answers from now on", name)
	return nil
}
