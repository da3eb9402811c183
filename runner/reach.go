package runner

import (
	"context"
	"slices"

	"github.com/selvagehq/selvage"
)

// reach reads back beyond the loaded window what may not be cut off from it:
// the calls whose results are in it, unless they are very far away, and all of
// an open run from its last answer on, and the messages that made its open
// calls.
func (x *run) reach(ctx context.Context, head *selvage.Head) error {
	open := head.OpenRun
	var lost map[string]bool
	if x.survey.of(x.window); !x.survey.tidy(len(x.window)) {
		lost = torn(x.window)
	}
	if len(lost) > 0 {
		err := x.readBack(ctx, "", selvage.MaxSetMessages, func(older []selvage.Message) bool {
			for id := range lost {
				if callOf(older, id) >= 0 {
					delete(lost, id)
				}
			}
			return len(lost) == 0
		})
		if err != nil {
			return err
		}
	}
	if open == nil || open.Steps == 0 {
		return nil
	}
	if lastAnswer(x.window, open.ID, open.Steps) < 0 {
		err := x.readBack(ctx, open.ID, 0, func(older []selvage.Message) bool {
			return lastAnswer(older, open.ID, open.Steps) >= 0
		})
		if err != nil {
			return err
		}
	}
	return x.reachCalls(ctx, open.ID, head.OpenCalls)
}

// reachCalls reads back to the messages that made the open calls of a run, and
// puts them alone in front of the window.
func (x *run) reachCalls(ctx context.Context, run selvage.RunID, calls []selvage.Call) error {
	lost := make(map[string]bool)
	for i := range calls {
		if calls[i].RunID == run && callOf(x.window, calls[i].ID) < 0 {
			lost[calls[i].ID] = true
		}
	}
	if len(lost) == 0 || len(x.window) == 0 {
		return nil
	}
	kept := x.window
	var makers []selvage.Message
	err := x.readBack(ctx, run, 0, func(older []selvage.Message) bool {
		for i := range slices.Backward(older) {
			makes := false
			for _, c := range older[i].ToolCalls {
				makes = makes || lost[c.ID]
				delete(lost, c.ID)
			}
			if makes {
				makers = append([]selvage.Message{older[i]}, makers...)
			}
		}
		return len(lost) == 0
	})
	x.window = append(makers, kept...)
	return err
}

// readBack puts messages from before the window in front of it, those of one
// run only if it is named. It goes on until it has atMost of them, if that is
// not 0, or the page read last is enough.
func (x *run) readBack(ctx context.Context, run selvage.RunID, atMost int, enough func([]selvage.Message) bool) error {
	limit := selvage.MaxPage
	query := selvage.MessageQuery{At: x.version, RunID: run, Order: selvage.Descending, Visibility: selvage.ShowAll, Limit: &limit}
	if len(x.window) > 0 {
		query.Before = x.window[0].Seq
	}
	var older []selvage.Message
	for {
		page, err := x.store.Messages(ctx, x.thread, query)
		if err != nil {
			return err
		}
		slices.Reverse(page.Items)
		older = append(page.Items, older...)
		if enough(page.Items) || page.Next == "" || atMost > 0 && len(older) >= atMost {
			x.window = append(older, x.window...)
			return nil
		}
		query.Cursor = page.Next
	}
}
