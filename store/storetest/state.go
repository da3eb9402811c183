package storetest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

func statePromises() []promise {
	return []promise{
		{"AtAnyVersion", "ARCHITECTURE 1: any version can be read; 0 is the head.", stateAtAnyVersion},
		{"FoldOfTheLog", "ARCHITECTURE 1: heads and state documents are views of the log and can be rebuilt from it.", foldOfTheLog},
		{"NotReached", "Store.State: a version that the thread has not reached matches not_found.", stateNotReached},
		{"SnapshotReplaces", "ARCHITECTURE 3: snapshot, then patches: a snapshot replaces the whole state.", snapshotReplaces},
		{"SnapshotIsCountedOnce", "ARCHITECTURE 7: a snapshot never takes effect together with the patches that led to it.", snapshotIsCountedOnce},
		{"NumbersStayExact", "CONTRACT 21: literals are kept verbatim at any size; arithmetic is int64.", numbersStayExact},
		{"TextStaysExact", "ARCHITECTURE 4: documents are JSON: any key and any text comes back as it was.", textStaysExact},
		{"WhatDoesNotApplyIsRefused", "CONTRACT 4: a patch that does not apply at its version is invalid and nothing is written.", whatDoesNotApplyIsRefused},
		{"PatchesApplyInOrder", "ARCHITECTURE 4: apply is atomic, in order, over all patches of a set.", patchesApplyInOrder},
		{"OtherChangesLeaveItAlone", "ARCHITECTURE 3: only a snapshot or a patch changes the state.", otherChangesLeaveItAlone},
		{"FormerLifeIsGone", "ARCHITECTURE 1: what retention or erasure removed answers gone, never a wrong value.", formerLifeIsGone},
	}
}

func value(text string) state.Value { return must(state.ParseValue([]byte(text))) }

func stateAtAnyVersion(k *kit) {
	id := newID()
	pre := selvage.New()
	const n = 150
	for i := range n {
		set := patch(state.Set(state.At("k", fmt.Sprint(i%7)), state.Int(int64(i))))
		if i%5 == 4 {
			set = says("no patch")
		}
		k.append(id, set, pre)
		pre = selvage.Any()
	}
	want := func(v int) string {
		last := map[string]map[string]int{"k": {}}
		for i := range v {
			if i%5 != 4 {
				last["k"][fmt.Sprint(i%7)] = i
			}
		}
		return encode(k, last)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, v := range append(random.Perm(n)[:60], n-1, 0) {
		if got := k.state(id, selvage.Version(v+1)); got != want(v+1) {
			k.Fatalf("state at version %d of %d: got %s, want %s", v+1, n, got, want(v+1))
		}
	}
	if got := k.state(id, 0); got != want(n) || k.load(id).State.String() != want(n) {
		k.Errorf("state at the head: got %s, and %s in a load; want %s", got, k.load(id).State, want(n))
	}
}

func foldOfTheLog(k *kit) {
	id := newID()
	k.history(id)
	doc := state.Document{}
	for _, c := range k.log(id) {
		var err error
		if doc, err = c.ApplyState(doc); err != nil {
			k.Fatalf("change %d does not apply: %v", c.Version, err)
		}
		if got := k.state(id, c.Version); got != doc.String() {
			k.Errorf("state at version %d is %s; the log up to there makes %s", c.Version, got, doc)
		}
	}
	if got := k.load(id).State; !got.Equal(doc) {
		k.Errorf("state of the head is %s; the whole log makes %s", got, doc)
	}
}

func stateNotReached(k *kit) {
	id := k.create(says("one"), says("two"))
	for _, v := range []selvage.Version{3, 4, 1 << 40} {
		_, err := k.store.State(k.Context(), id, v)
		k.class(fmt.Sprintf("state at version %d of a thread at 2", v), err, selvage.ErrNotFound)
	}
	if _, err := k.store.State(k.Context(), id, -1); err == nil {
		k.Error("state at version -1 was answered; want an error")
	}
}

func snapshotReplaces(k *kit) {
	doc := must(state.Parse([]byte(`{"b":{"c":[1,2]}}`)))
	id := k.create(patch(state.Set("/a", state.Int(1))), selvage.ChangeSet{Snapshot: &doc}, patch(state.Append("/b/c", state.Int(3))),
		selvage.ChangeSet{Snapshot: &state.Document{}}, patch(state.Set("/d", state.Int(4))))
	for v, want := range map[selvage.Version]string{1: `{"a":1}`, 2: `{"b":{"c":[1,2]}}`, 3: `{"b":{"c":[1,2,3]}}`, 4: `{}`, 5: `{"d":4}`} {
		if got := k.state(id, v); got != want {
			k.Errorf("state at version %d: got %s, want %s", v, got, want)
		}
	}
}

func snapshotIsCountedOnce(k *kit) {
	id := k.create(patch(state.Set("/n", state.Int(1))))
	k.append(id, patch(state.Increment("/n", state.Int(1))), selvage.Any())
	doc := must(state.Parse([]byte(`{"n":2}`))) // what the patches led to
	k.append(id, selvage.ChangeSet{Snapshot: &doc, Reason: selvage.ReasonRunFinished}, selvage.Any())
	if got := k.state(id, 0); got != `{"n":2}` {
		k.Errorf("state after a snapshot of itself: got %s, want {\"n\":2}", got)
	}
	k.refuseField(id, selvage.ChangeSet{Snapshot: &doc, Patches: patch(state.Increment("/n", state.Int(1))).Patches}, selvage.Any(), "snapshot")
}

func numbersStayExact(k *kit) {
	literals := []string{"9007199254740993", "-9007199254740993", "9223372036854775807", "-9223372036854775808", "18446744073709551616",
		"123456789012345678901234567890", "1.0", "1.50", "0.1", "1e400", "-0", "1E2", "0.30000000000000004"}
	id := k.create(selvage.ChangeSet{})
	for i, literal := range literals {
		k.append(id, patch(state.Set(state.At(fmt.Sprint("n", i)), value(literal))), selvage.Any())
	}
	doc := must(state.Parse([]byte(`{"snapshot":[` + strings.Join(literals, ",") + `]}`)))
	other := k.create(selvage.ChangeSet{Snapshot: &doc})
	k.append(id, says("and then"), selvage.Any())
	for i, literal := range literals {
		if got, _ := k.load(id).State.Get(state.At(fmt.Sprint("n", i))); got.Literal() != literal {
			k.Errorf("the number %s set by a patch became %s", literal, got.Literal())
		}
		if got, _ := k.load(other).State.Get(state.At("snapshot", fmt.Sprint(i))); got.Literal() != literal {
			k.Errorf("the number %s in a snapshot became %s", literal, got.Literal())
		}
	}
	k.append(id, patch(state.Increment("/n0", state.Int(2))), selvage.Any())
	if got, _ := k.load(id).State.Get("/n0"); got.Literal() != "9007199254740995" {
		k.Errorf("9007199254740993 + 2 is %s; want 9007199254740995", got.Literal())
	}
	k.refuseField(id, patch(state.Increment("/n2", state.Int(1))), selvage.Any(), "patches[0]")
}

func textStaysExact(k *kit) {
	odd := []string{"", "/", "~", "~1", "a b", "<&>", "\u0000", "\u2028\u2029", "é", "e\u0301", "🧵", "\"\\\n\t", "__proto__", "0", strings.Repeat("long", 5000)}
	var ops state.Patch
	for _, text := range odd {
		ops = append(ops, state.Set(state.At(text), state.String(text)), state.Set(state.At("nested", text, text), state.String(text)))
	}
	id := k.create(patch(ops...), says("and then"))
	for _, doc := range []state.Document{k.load(id).State, must(k.store.State(k.Context(), id, 1))} {
		for _, text := range odd {
			flat, _ := doc.Get(state.At(text))
			deep, _ := doc.Get(state.At("nested", text, text))
			if flat.Text() != text || deep.Text() != text {
				k.Errorf("the text %.20q under itself as key became %.20q and, deeper, %.20q", text, flat.Text(), deep.Text())
			}
		}
	}
}

func whatDoesNotApplyIsRefused(k *kit) {
	start := `{"s":"text","o":{"k":1},"l":[1,2],"n":1,"max":9223372036854775807,"null":null}`
	doc := must(state.Parse([]byte(start)))
	id := k.create(selvage.ChangeSet{Snapshot: &doc})
	tests := map[string]state.Op{
		"sets below a string":             state.Set("/s/k", state.Int(1)),
		"sets below null":                 state.Set("/null/k", state.Int(1)),
		"sets an element that is not":     state.Set("/l/2", state.Int(1)),
		"sets the root to a number":       state.Set("", state.Int(1)),
		"appends to an object":            state.Append("/o", state.Int(1)),
		"merges a number":                 state.Merge("/o", state.Int(1)),
		"merges into a list":              state.Merge("/l", value(`{}`)),
		"increments what is not there":    state.Increment("/missing", state.Int(1)),
		"increments a string":             state.Increment("/s", state.Int(1)),
		"increments beyond 64 bits":       state.Increment("/max", state.Int(1)),
		"increments by a string":          state.Increment("/n", state.String("1")),
		"inserts beyond the end":          state.Insert("/l/3", state.Int(1)),
		"inserts into what is not there":  state.Insert("/missing/0", state.Int(1)),
		"removes from what is not a list": state.Remove("/o", state.Int(1)),
		"has a path that is no pointer":   state.Set("k", state.Int(1)),
		"has a kind nobody knows":         {Kind: "increase", Path: "/n", Value: state.Int(1)},
	}
	for name, op := range tests {
		k.Logf("a patch that %s", name)
		k.refuse(id, patch(state.Set("/n", state.Int(2)), op), selvage.Any(), selvage.ErrInvalid)
		set := patch(state.Set("/n", state.Int(2)))
		set.Messages = []selvage.Message{say("", "hello")}
		set.Patches = append(set.Patches, selvage.StatePatch{Source: "tool:x", Ops: state.Patch{op}})
		k.refuse(id, set, selvage.Any(), selvage.ErrInvalid)
	}
	k.refuseField(id, patch(state.Increment("/missing", state.Int(1))), selvage.Any(), "patches[0]")
	k.refuseField(newID(), patch(state.Increment("/missing", state.Int(1))), selvage.New(), "patches[0]")
	if got := k.state(id, 0); got != must(state.Parse([]byte(start))).String() {
		k.Errorf("state after nothing but refused patches: got %s, want %s", got, start)
	}
}

func patchesApplyInOrder(k *kit) {
	set := selvage.ChangeSet{Patches: []selvage.StatePatch{
		{Source: "hook:a", Ops: state.Patch{state.Set("/n", state.Int(1)), state.Increment("/n", state.Int(2))}},
		{Source: "tool:b", Ops: state.Patch{state.Increment("/n", state.Int(10)), state.Append("/l", state.String("x"))}},
		{Ops: state.Patch{state.Insert("/l/0", state.String("w")), state.Delete("/missing"), state.Remove("/l", state.String("x")), state.Merge("/o", value(`{"a":null}`))}},
	}}
	id := k.create(set)
	if got, want := k.state(id, 0), `{"l":["w"],"n":13,"o":{"a":null}}`; got != want {
		k.Errorf("state after three patches: got %s, want %s", got, want)
	}
	c := k.change(id, 1)
	logged, err := c.Set()
	if err != nil {
		k.Fatalf("decode the set of version 1: %v", err)
	}
	k.equal("patches in the log, with their sources", logged.Patches, set.Patches)
}

func otherChangesLeaveItAlone(k *kit) {
	id := k.create(patch(state.Set("/n", state.Int(1))))
	rich := richSet()
	rich.Snapshot = nil
	for _, set := range []selvage.ChangeSet{rich, {}, says("hello"), {Patches: []selvage.StatePatch{{Ops: nil}}}} {
		r := k.append(id, set, selvage.Any())
		if got := k.state(id, r.Version); got != `{"n":1}` {
			k.Errorf("state at version %d, which has neither snapshot nor patch: got %s, want {\"n\":1}", r.Version, got)
		}
	}
}

func formerLifeIsGone(k *kit) {
	id := k.create(patch(state.Set("/n", state.Int(1))), says("two"))
	k.delete(id, selvage.DeleteReject) // version 3
	k.append(id, says("hello"), selvage.Recreate())
	for v := range selvage.Version(3) {
		_, err := k.store.State(k.Context(), id, v+1)
		k.class(fmt.Sprintf("state at version %d of a thread recreated at 4", v+1), err, selvage.ErrGone)
		_, err = k.store.Messages(k.Context(), id, selvage.MessageQuery{At: v + 1})
		k.class(fmt.Sprintf("messages at version %d of a thread recreated at 4", v+1), err, selvage.ErrGone)
	}
	if got := k.state(id, 4); got != "{}" {
		k.Errorf("state of the recreated thread: got %s, want {}", got)
	}
	_, err := k.store.State(k.Context(), id, 5)
	k.class("state at version 5 of a thread recreated at 4", err, selvage.ErrNotFound)
}
