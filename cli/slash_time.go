package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/selvagehq/selvage"
)

// forkHere goes on in a fork of the thread.
func (c *conversation) forkHere(ctx context.Context, as string) error {
	req := selvage.ForkRequest{From: c.id}
	if as != "" {
		id, err := threadID(as)
		if err != nil {
			return fmt.Errorf("/fork: %w", err)
		}
		req.To = id
	}
	doc, err := c.fork(ctx, c.store, req)
	if err != nil {
		if c.nothingYet(err) {
			return nil
		}
		return fmt.Errorf("/fork: %w", err)
	}
	from := c.id
	c.id = doc.ID
	c.warnUndone(doc.Undone)
	c.warnStays(doc)
	c.err.line("this is %s now, a fork of %s at version %d", doc.ID, from, doc.ForkedFrom.Version)
	if c.kept() {
		c.err.line("back to the other one: %s", c.again("chat", "--thread", quote(string(from))))
	}
	return nil
}

// rewindTurns takes the last turns of the conversation back.
func (c *conversation) rewindTurns(ctx context.Context, text string) error {
	n := 1
	if text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 {
			return usage("/rewind takes back the last turn, /rewind 3 the last three", "/rewind: %q is not a number of turns", text)
		}
	}
	to, err := c.before(ctx, n)
	if err != nil {
		if c.nothingYet(err) {
			return nil
		}
		return fmt.Errorf("/rewind: %w", err)
	}
	doc, err := c.rewind(ctx, c.store, c.id, to, 0)
	if err != nil {
		return fmt.Errorf("/rewind: %w", err)
	}
	c.warnUndone(doc.Undone)
	c.err.line("back at version %d", to)
	return nil
}

// before is the version before the last n things the user said.
func (c *conversation) before(ctx context.Context, n int) (selvage.Version, error) {
	limit, said := selvage.MaxPage, 0
	var first int64
	q := selvage.MessageQuery{Order: selvage.Descending, Limit: &limit}
	for first == 0 {
		page, err := c.store.Messages(ctx, c.id, q)
		if err != nil {
			return 0, err
		}
		for i := range page.Items {
			if page.Items[i].Role != selvage.RoleUser {
				continue
			}
			if said++; said == n {
				first = page.Items[i].Seq
				break
			}
		}
		if q.Cursor = page.Next; page.Next == "" && first == 0 {
			return 0, usage("/history shows them", "there are only %d turns to take back", said)
		}
	}
	v, err := c.versionOf(ctx, first)
	if err == nil && v == 1 {
		err = hinted(errors.New("nothing would be left of this thread"), "begin a new one: "+c.again("chat"))
	}
	return v - 1, err
}

// versionOf is the version that added the message with a seq.
func (c *conversation) versionOf(ctx context.Context, seq int64) (selvage.Version, error) {
	limit := selvage.MaxPage
	q := selvage.ChangeQuery{Order: selvage.Descending, Limit: &limit}
	for {
		page, err := c.store.Changes(ctx, c.id, q)
		if err != nil {
			return 0, err
		}
		for i := range page.Items {
			if page.Items[i].FirstSeq <= seq && seq <= page.Items[i].LastSeq() {
				return page.Items[i].Version, nil
			}
		}
		if page.Next == "" {
			return 0, fmt.Errorf("message %d is not in the log of thread %q: %w", seq, c.id, selvage.ErrCorrupt)
		}
		q.Cursor = page.Next
	}
}
