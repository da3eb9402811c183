package runner_test

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// whole is a log from its first change to its last, as it was folded.
type whole struct {
	head    selvage.Head
	version selvage.Version
	hash    selvage.Hash
	doc     state.Document
	states  map[selvage.Version]state.Document
	calls   map[string]*selvage.Call
	runs    map[selvage.RunID]*selvage.Run
	said    map[string]int           // messages by id
	made    map[string]selvage.RunID // calls that were made, by the run that made them
	results map[string]int           // results of calls
	wrong   []string
}

// readWhole reads and folds a whole log. The error is that of a log that cannot
// be folded.
func readWhole(ctx context.Context, store selvage.Store, id selvage.ThreadID) (*whole, error) {
	l := &whole{states: make(map[selvage.Version]state.Document), calls: make(map[string]*selvage.Call), runs: make(map[selvage.RunID]*selvage.Run),
		said: make(map[string]int), made: make(map[string]selvage.RunID), results: make(map[string]int)}
	most := selvage.MaxPage
	for q := (selvage.ChangeQuery{Limit: &most}); ; {
		page, err := store.Changes(ctx, id, q)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			if err := l.take(&page.Items[i]); err != nil {
				return nil, fmt.Errorf("version %d: %w", page.Items[i].Version, err)
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	var err error
	l.head, err = store.Load(ctx, id, selvage.LoadOptions{})
	return l, err
}

// take folds in one change.
func (l *whole) take(c *selvage.Change) error {
	if c.Version != l.version+1 {
		return fmt.Errorf("it follows version %d", l.version)
	}
	if err := c.Verify(l.hash); err != nil {
		return err
	}
	set, err := c.Set()
	if err != nil {
		return err
	}
	l.version, l.hash = c.Version, c.Hash
	if set.Rewind != nil {
		l.doc = l.states[*set.Rewind]
	} else if l.doc, err = c.ApplyState(l.doc); err != nil {
		return err
	}
	l.states[c.Version] = l.doc
	for i := range set.Calls {
		u := &set.Calls[i]
		if l.calls[u.CallID], err = u.Apply(l.calls[u.CallID], c.ThreadID, set.RunID, c.At); err != nil {
			return err
		}
	}
	for i := range set.Runs {
		u := &set.Runs[i]
		was := l.runs[u.ID]
		now, err := u.Apply(was, c.ThreadID, c.At)
		if err != nil {
			return err
		}
		if was != nil && (now.Steps < was.Steps || now.Cost < was.Cost || now.Usage.InputTokens < was.Usage.InputTokens) {
			l.wrong = append(l.wrong, fmt.Sprintf("version %d: run %s has used less than before", c.Version, u.ID))
		}
		l.runs[u.ID] = now
	}
	added, err := c.AddedMessages()
	if err != nil {
		return err
	}
	l.listen(added, set.RunID)
	return nil
}

// listen takes in messages.
func (l *whole) listen(added []selvage.Message, run selvage.RunID) {
	for i := range added {
		m := &added[i]
		l.said[m.ID]++
		for _, c := range m.ToolCalls {
			if _, again := l.made[c.ID]; again {
				l.wrong = append(l.wrong, fmt.Sprintf("call %s is made twice", c.ID))
			}
			l.made[c.ID] = run
		}
		if m.Role == selvage.RoleTool {
			l.results[m.ToolCallID]++
		}
	}
}

// faults says in what the log is not what it should be.
func (l *whole) faults() []string {
	wrong := slices.Clone(l.wrong)
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if l.head.Thread.Version != l.version || l.head.Hash != l.hash || !l.head.State.Equal(l.doc) {
		add("the head is version %d with %s, the log leads to version %d with %s", l.head.Thread.Version, l.head.State, l.version, l.doc)
	}
	var open []selvage.RunID
	for _, id := range slices.Sorted(maps.Keys(l.runs)) {
		if l.runs[id].Status.Open() {
			open = append(open, id)
		}
	}
	if len(open) > 1 {
		add("%d runs are open: %v", len(open), open)
	}
	for _, id := range slices.Sorted(maps.Keys(l.said)) {
		if l.said[id] > 1 {
			add("message %s was recorded %d times", id, l.said[id])
		}
	}
	for _, id := range slices.Sorted(maps.Keys(l.made)) {
		run := l.runs[l.made[id]]
		over := run == nil || !run.Status.Open()
		switch n := l.results[id]; {
		case n > 1:
			add("call %s has %d results", id, n)
		case n == 0 && over:
			add("call %s has no result, and its run is over", id)
		}
		if c := l.calls[id]; c != nil && over && !c.Status.Terminal() {
			add("call %s is %s, and its run is over", id, c.Status)
		}
		if c := l.calls[id]; c != nil && l.results[id] == 1 && !c.Status.Terminal() {
			add("call %s is %s, and has a result", id, c.Status)
		}
	}
	return wrong
}
