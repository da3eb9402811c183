package storetest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

func archiveFirst(k *kit) {
	id := newID()
	k.history(id)
	for i := range 5 {
		k.append(id, counting(i), selvage.Any())
	}
	log, before := k.log(id), k.picture(id)
	failed := errors.New("the archive is full")
	var kept []selvage.Change
	room := 3
	request := selvage.CompactRequest{Thread: id, Retention: keepLast(1), Archive: func(c *selvage.Change) error {
		if len(kept) == room {
			return failed
		}
		kept = append(kept, *c)
		return nil
	}}
	if _, err := k.compactor().Compact(k.Context(), request); !errors.Is(err, failed) {
		k.Fatalf("compaction with an archive that fails: %v; want its error", err)
	}
	if after := k.picture(id); after != before {
		k.Errorf("an archive that failed left its mark: %s", difference(after, before))
	}
	kept, room = nil, 100
	report, err := k.compactor().Compact(k.Context(), request)
	if err != nil || int(report.Changes) != len(kept) || len(kept) != 6 {
		k.Fatalf("compaction reports %s (%v) and archived %d changes; want 6", encode(k, report), err, len(kept))
	}
	for i := range kept {
		k.equal("an archived change", kept[i], log[kept[i].Version-1])
		if i > 0 && kept[i].Version <= kept[i-1].Version {
			k.Errorf("version %d was archived after version %d", kept[i].Version, kept[i-1].Version)
		}
	}
}

func dryRunDoesNothing(k *kit) {
	id := newID()
	k.history(id)
	for i := range 20 {
		k.append(id, counting(i), selvage.Any())
	}
	before, states := k.picture(id), k.states(id)
	request := selvage.CompactRequest{Thread: id, Retention: keepLast(3), DryRun: true,
		Archive: func(*selvage.Change) error { return errors.New("a dry run archives nothing") }}
	would, err := k.compactor().Compact(k.Context(), request)
	if err != nil {
		k.Fatalf("a dry run failed: %v", err)
	}
	if after := k.picture(id); after != before {
		k.Errorf("a dry run left its mark: %s", difference(after, before))
	}
	k.equal("the states after a dry run", k.states(id), states)
	k.equal("what was done", k.compact(id, 3), would)
}

func compactRefused(k *kit) {
	for name, r := range map[string]struct {
		request selvage.CompactRequest
		class   error
	}{
		"a negative age":        {selvage.CompactRequest{Retention: &selvage.Retention{Age: -1}}, selvage.ErrInvalid},
		"negative checkpoints":  {selvage.CompactRequest{Retention: keepLast(-1)}, selvage.ErrInvalid},
		"a bad id":              {selvage.CompactRequest{Thread: "a/b"}, selvage.ErrInvalid},
		"a thread that is none": {selvage.CompactRequest{Thread: newID()}, selvage.ErrNotFound},
	} {
		_, err := k.compactor().Compact(k.Context(), r.request)
		k.class("compact with "+name, err, r.class)
	}
	id := k.counted(2)
	k.delete(id, selvage.DeleteReject)
	_, err := k.compactor().Compact(k.Context(), selvage.CompactRequest{Thread: id})
	k.class("compact of a deleted thread", err, selvage.ErrNotFound)
}

func everyThread(k *kit) {
	k = k.alone()
	var ids []selvage.ThreadID
	for range 5 {
		ids = append(ids, k.counted(4))
	}
	k.delete(ids[4], selvage.DeleteReject)
	before := k.states(ids[0])
	report, err := k.compactor().Compact(k.Context(), selvage.CompactRequest{Retention: keepLast(1)})
	if err != nil || report.Threads != 4 || report.Moved != 4 || report.Changes != 12 {
		k.Errorf("the report is %s (%v); want 12 changes of 4 threads", encode(k, report), err)
	}
	for _, id := range ids[:4] {
		k.equal("the states", k.states(id), goneBelow(before, 3))
	}
}

func compactWithErasures(k *kit) {
	for name, both := range map[string]func(id selvage.ThreadID, messages ...string){
		"erased first": func(id selvage.ThreadID, messages ...string) {
			k.erase(id, messages...)
			k.compact(id, 0)
		},
		"compacted first": func(id selvage.ThreadID, messages ...string) {
			k.compact(id, 0)
			k.erase(id, messages...)
		},
		"in turns": func(id selvage.ThreadID, messages ...string) {
			k.erase(id, messages[0])
			k.compact(id, 1)
			k.erase(id, messages...)
			k.compact(id, 0)
			k.erase(id, messages...)
		},
	} {
		id := k.create(says("hello"))
		set := confession()
		set.Patches = patch(state.Set("/a", state.Int(1))).Patches
		first := k.append(id, set, selvage.Any())
		k.append(id, patch(state.Set("/b", state.Int(2))), selvage.Any())
		outline, want := k.outline(k.log(id)), k.state(id, 0)
		both(id, confessed...)
		log := k.log(id)
		k.verify(log)
		k.equal(name+": the outline of the log", k.outline(log[:3]), outline)
		k.replay(id, set, selvage.Any(), first)
		if got := k.state(id, 0); got != want || strings.Contains(k.picture(id), "secret") || !log[1].StateGone() || len(log[1].Erased()) != 3 {
			k.Errorf("%s: the state is %s, version 2 is %s; want state %s, and messages and patches gone", name, got, encode(k, log[1]), want)
		}
	}
}

func compactRecreated(k *kit) {
	id := k.counted(5)
	k.compact(id, 0)
	k.delete(id, selvage.DeleteReject)
	k.append(id, counting(7), selvage.Recreate())
	k.append(id, counting(8), selvage.Any())
	before := k.states(id)[6:]
	if strings.Contains(strings.Join(before, " "), "gone") {
		k.Fatalf("the states of the second life are %v; want none gone", before)
	}
	k.compact(id, 0)
	k.equal("the states of the second life", k.states(id)[6:], []string{"gone", before[1]})
	k.verify(k.log(id))
}

func compactBesideWriters(k *kit) {
	id := k.create(patch(state.Set("/w/0", state.Int(0)), state.Set("/w/1", state.Int(0)), state.Set("/w/2", state.Int(0))))
	const each = 25
	errs := together(6, func(w int) error {
		for i := range each {
			var err error
			switch {
			case w < 3:
				set := patch(state.Increment(state.At("w", fmt.Sprint(w)), state.Int(1)))
				if i%5 == 4 {
					set = says("no state")
				}
				_, err = k.store.Append(k.Context(), id, set, selvage.Any())
			case w == 3:
				var h selvage.Head
				if h, err = k.store.Load(k.Context(), id, selvage.LoadOptions{}); err == nil {
					var at state.Document
					at, err = k.store.State(k.Context(), id, h.Thread.Version)
					if err == nil && !at.Equal(h.State) {
						err = fmt.Errorf("the state at version %d is %v, and was loaded as %v", h.Thread.Version, at, h.State)
					}
				}
				if errors.Is(err, selvage.ErrGone) {
					err = nil // it was compacted in between
				}
			default:
				_, err = k.compactor().Compact(k.Context(), selvage.CompactRequest{Thread: id, Retention: keepLast(w - 4)})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	k.noErrors(errs)
	for w := range 3 {
		if got, _ := k.load(id).State.Get(state.At("w", fmt.Sprint(w))); got.Literal() != fmt.Sprint(each-each/5) {
			k.Errorf("writer %d counted to %s; want %d", w, got.Literal(), each-each/5)
		}
	}
	k.compact(id, 0)
	k.verify(k.log(id))
}

func compactedStaysCompacted(k *kit) {
	k = k.alone()
	id := newID()
	k.history(id)
	for i := range 40 {
		k.append(id, counting(i), selvage.Any())
	}
	k.append(id, selvage.ChangeSet{Rewind: ptr(selvage.Version(12))}, selvage.Any())
	k.append(id, counting(3), selvage.Any())
	k.compact(id, 1)
	before, states := k.picture(id), k.states(id)
	k = k.restart()
	if after := k.picture(id); after != before {
		k.Fatalf("a restart changed what can be read: %s", difference(after, before))
	}
	k.equal("the states", k.states(id), states)
	k.compact(id, 0)
	k.append(id, counting(50), selvage.Any())
	k.equal("the state at the version before", k.states(id)[len(states)-1], states[len(states)-1])
	k.verify(k.log(id))
}
