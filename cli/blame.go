package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// blame tells what set the values at and below a path at a version, 0 being
// the head. It reads the log back to where the state began. What is under
// reserved keys is left out unless all is asked for, or the path is there.
func blame(ctx context.Context, store selvage.Store, id selvage.ThreadID, path state.Pointer, at selvage.Version, all bool) ([]*blamedValue, error) {
	doc, err := store.State(ctx, id, at)
	if err != nil {
		return nil, err
	}
	if _, there := doc.Get(path); !there {
		return nil, hinted(fmt.Errorf("thread %q has nothing at %q: %w", id, path, selvage.ErrNotFound),
			"`selvage thread state "+quote(string(id))+"` prints all there is")
	}
	b := &blamer{marks: make(map[state.Pointer]*blamedValue), names: make(map[string]string)}
	if err := b.collect(ctx, store, id, at); err != nil {
		return nil, err
	}
	if err := b.replay(); err != nil {
		return nil, err
	}
	if !b.doc.Equal(doc) {
		return nil, &selvage.CorruptError{Thread: id, Version: at, Reason: "its state is not what its log adds up to"}
	}
	var values []*blamedValue
	leaves(doc.Root(), "", func(at state.Pointer, v state.Value) {
		if path != at && !path.Contains(at) || at.Reserved() && !all && !path.Reserved() {
			return
		}
		found := blamedValue{}
		if mark := b.marks[at]; mark != nil {
			found = *mark
			found.Known = true
		}
		found.Path, found.Value = at, v
		values = append(values, &found)
	})
	return values, nil
}

// blamer follows the values of a state document through the changes that made
// it.
type blamer struct {
	changes []selvage.Change  // of the state, the newest first, without what was rewound
	names   map[string]string // of tools, by the call
	doc     state.Document
	marks   map[state.Pointer]*blamedValue // of leaves
}

// collect reads the log backwards, passing over what rewinds hid, to where the
// state began.
func (b *blamer) collect(ctx context.Context, store selvage.Store, id selvage.ThreadID, at selvage.Version) error {
	limit := selvage.MaxPage
	q := selvage.ChangeQuery{Order: selvage.Descending, Limit: &limit}
	if at != 0 {
		q.Before = at + 1
	}
	for {
		page, err := store.Changes(ctx, id, q)
		if err != nil {
			return err
		}
		done, err := b.take(page.Items, &q)
		if err != nil || done || len(page.Items) == 0 {
			return err
		}
	}
}

// take collects a page and says where to read on. It reports whether the state
// began in it.
func (b *blamer) take(page []selvage.Change, q *selvage.ChangeQuery) (done bool, err error) {
	for i := range page {
		c := &page[i]
		if c.Reason == selvage.ReasonDeleted {
			return true, nil // of the former life
		}
		set, err := c.Set()
		if err != nil {
			return false, err
		}
		for j := range set.Messages {
			for _, call := range set.Messages[j].ToolCalls {
				b.names[call.ID] = call.Name
			}
		}
		q.Before = c.Version
		begins := c.Base != nil || set.Snapshot != nil
		if begins || len(set.Patches) > 0 || c.StateGone() {
			b.changes = append(b.changes, *c)
		}
		if begins || c.Version == 1 {
			return true, nil
		}
		if set.Rewind != nil {
			q.Before = *set.Rewind + 1
			return false, nil // the rest of the page was hidden
		}
	}
	return false, nil
}

// replay applies the changes in order and marks what each set.
func (b *blamer) replay() error {
	for _, c := range slices.Backward(b.changes) {
		if c.Base != nil || c.StateGone() {
			doc, err := c.ApplyState(b.doc)
			if err != nil {
				return err
			}
			b.doc = doc // what set its values is not kept
			continue
		}
		if err := b.apply(&c); err != nil {
			return err
		}
	}
	return nil
}

func (b *blamer) apply(c *selvage.Change) error {
	set, err := c.Set()
	if err != nil {
		return err
	}
	added, err := c.AddedMessages()
	if err != nil {
		return err
	}
	if set.Snapshot != nil {
		b.doc, b.marks = *set.Snapshot, make(map[state.Pointer]*blamedValue)
		by := b.mark(c, &set, "", added)
		leaves(b.doc.Root(), "", func(at state.Pointer, _ state.Value) { b.marks[at] = by })
	}
	for _, p := range set.Patches {
		by := b.mark(c, &set, p.Source, added)
		for _, op := range p.Ops {
			after, err := (state.Patch{op}).Apply(b.doc)
			if err != nil {
				return &selvage.CorruptError{Thread: c.ThreadID, Version: c.Version, Reason: err.Error()}
			}
			b.step(op, after, by)
		}
	}
	return nil
}

// mark is what is told about the values that a patch sets.
func (b *blamer) mark(c *selvage.Change, set *selvage.ChangeSet, source string, added []selvage.Message) *blamedValue {
	v := &blamedValue{Version: c.Version, Change: c.ID, Reason: c.Reason, At: moment(c.At), RunID: c.RunID, Source: source}
	if set.Fork != nil {
		v.Origin = &set.Fork.Origin
		return v
	}
	tool, isTool := strings.CutPrefix(source, "tool:")
	for i := range added {
		m := &added[i]
		if isTool && (m.Role != selvage.RoleTool || b.names[m.ToolCallID] != tool) {
			continue
		}
		v.Message = &blamedMessage{m.ID, m.Seq, m.Role}
		if isTool {
			v.Call = &blamedCall{m.ToolCallID, tool}
		}
		break
	}
	return v
}

// step moves the marks on by one op.
func (b *blamer) step(op state.Op, after state.Document, by *blamedValue) {
	before := b.doc
	b.doc = after
	scope := op.Path
	if array, ok := resized(op.Path, before, after); ok {
		scope = array
		b.shift(array, before, after)
		if v, _ := after.Get(array); v.Len() > 0 {
			// Elements that were there keep their marks.
			leaves(v, array, func(at state.Pointer, _ state.Value) {
				if b.marks[at] == nil {
					b.marks[at] = by
				}
			})
		} else {
			b.marks[array] = by
		}
		return
	}
	v, there := after.Get(scope)
	if !there {
		return
	}
	leaves(v, scope, func(at state.Pointer, v state.Value) {
		old, was := before.Get(at)
		if op.Kind == state.OpSet || !was || !old.Equal(v) {
			b.marks[at] = by
		}
	})
}

// resized returns the array at or around a path whose length an op changed.
func resized(path state.Pointer, before, after state.Document) (state.Pointer, bool) {
	for _, at := range []state.Pointer{path, parentOf(path)} {
		was, ok1 := before.Get(at)
		is, ok2 := after.Get(at)
		if ok1 && ok2 && was.Kind() == state.KindArray && is.Kind() == state.KindArray && was.Len() != is.Len() {
			return at, true
		}
	}
	return "", false
}

func parentOf(path state.Pointer) state.Pointer {
	return path[:max(0, strings.LastIndexByte(string(path), '/'))]
}

// shift moves the marks of elements that moved up or down, and drops those of
// elements that are new or gone.
func (b *blamer) shift(array state.Pointer, before, after state.Document) {
	was, _ := before.Get(array)
	is, _ := after.Get(array)
	head, tail := 0, 0
	for head < min(was.Len(), is.Len()) && sameAt(was, head, is, head) {
		head++
	}
	for tail < min(was.Len(), is.Len())-head && sameAt(was, was.Len()-1-tail, is, is.Len()-1-tail) {
		tail++
	}
	moved := make(map[state.Pointer]*blamedValue)
	for at, mark := range b.marks {
		rest, inside := strings.CutPrefix(string(at), string(array)+"/")
		if !inside {
			continue
		}
		delete(b.marks, at)
		token, below, deeper := strings.Cut(rest, "/")
		i, err := strconv.Atoi(token)
		switch {
		case err != nil, i >= head && i < was.Len()-tail:
			continue
		case i >= head:
			i += is.Len() - was.Len()
		}
		to := array.Join(strconv.Itoa(i))
		if deeper {
			to += state.Pointer("/" + below)
		}
		moved[to] = mark
	}
	delete(b.marks, array) // it was empty
	for at, mark := range moved {
		b.marks[at] = mark
	}
}

func sameAt(v state.Value, i int, w state.Value, j int) bool {
	a, ok1 := v.Index(i)
	b, ok2 := w.Index(j)
	return ok1 && ok2 && a.Equal(b)
}

// leaves visits the values below a value that hold no others, empty objects
// and arrays included.
func leaves(v state.Value, at state.Pointer, visit func(state.Pointer, state.Value)) {
	switch {
	case v.Kind() == state.KindObject && v.Len() > 0:
		for key, member := range v.Members() {
			leaves(member, at.Join(key), visit)
		}
	case v.Kind() == state.KindArray && v.Len() > 0:
		i := 0
		for element := range v.Elements() {
			leaves(element, at.Join(strconv.Itoa(i)), visit)
			i++
		}
	case at != "":
		visit(at, v)
	}
}
