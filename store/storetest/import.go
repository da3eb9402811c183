package storetest

import (
	"errors"
	"slices"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// importPromises are about logs that another store wrote.
func importPromises() []promise {
	const rule = "CONTRACT 6: headers are imported unchanged"
	return []promise{
		{"ComesOutAsItWentIn", rule + ": a thread that was imported is in everything the one that was exported.", importIsFaithful},
		{"TheChainGoesOn", rule + ": what is appended after an import follows in the chain, and ids that were used stay used.", importGoesOn},
		{"AgainIsNothing", "Importer.Import: changes that are there are passed over, in part or all of them.", importAgain},
		{"UnderAnotherID", "Importer.Import: a log may be taken in under another id beside its origin, if it holds no runs.", importElsewhere},
		{"NoGaps", "Importer.Import: changes that begin beyond the next version match a ConflictError, and gaps are invalid.", importGaps},
		{"TamperingShows", "Importer.Import: a change whose hash does not follow is corrupt, and those before it stay.", importTampered},
		{"AnotherHistory", "Importer.Import: a thread that has other changes at these versions already exists.", importOther},
		{"Tombstones", "Importer.Import: a tombstone deletes what there is of the thread, or stands alone, and its recreation follows.", importTombstones},
		{"ParentsMayBeMissing", "Importer.Import: a parent need not be there.", importOrphan},
		{"RewindsAndForks", rule + ": what was rewound, hidden or forked is so again, at every version.", importRewound},
		{"ManyAtOnce", "Importer.Import: imports of one log that run side by side leave it there once.", importTogether},
	}
}

// imports takes changes in, which must succeed.
func (k *kit) imports(id selvage.ThreadID, changes []selvage.Change) selvage.Version {
	k.Helper()
	i, _ := selvage.As[selvage.Importer](k.store)
	v, err := i.Import(k.Context(), id, changes)
	if err != nil {
		k.Fatalf("import of %d changes failed at version %d: %v", len(changes), v, err)
	}
	return v
}

// importRefused is [kit.imports] for what must be refused.
func (k *kit) importRefused(id selvage.ThreadID, changes []selvage.Change, class error) selvage.Version {
	k.Helper()
	i, _ := selvage.As[selvage.Importer](k.store)
	v, err := i.Import(k.Context(), id, changes)
	k.class("import", err, class)
	return v
}

// exported is a thread of every kind of change on a store of its own.
func (k *kit) exported() (from *kit, id selvage.ThreadID, log []selvage.Change) {
	k.Helper()
	from, id = k.alone(), newID()
	from.history(id)
	return from, id, from.log(id)
}

func importIsFaithful(k *kit) {
	from, id, log := k.exported()
	if v := k.imports(id, log); v != log[len(log)-1].Version {
		k.Errorf("import says it came to version %d; want %d", v, log[len(log)-1].Version)
	}
	if got, want := k.picture(id), from.picture(id); got != want {
		k.Errorf("the imported thread is another: %s", difference(got, want))
	}
	for v := range log {
		version := log[v].Version
		if got, want := k.state(id, version), from.state(id, version); got != want {
			k.Errorf("state at version %d: %s", version, difference(got, want))
		}
		k.equal("messages at version "+version.String(), k.allMessages(id, selvage.MessageQuery{At: version, Visibility: selvage.ShowAll}),
			from.allMessages(id, selvage.MessageQuery{At: version, Visibility: selvage.ShowAll}))
	}
}

func importGoesOn(k *kit) {
	from, id := k.alone(), newID()
	set := selvage.ChangeSet{ID: "first-" + selvage.NewID(), Messages: []selvage.Message{say("m1", "one")}}
	first := from.append(id, set, selvage.New())
	k.imports(id, from.log(id))
	k.replay(id, set, selvage.New(), first)
	r := k.append(id, selvage.ChangeSet{Messages: []selvage.Message{say("m1", "again"), say("m2", "two")}}, selvage.Exact(first.Version))
	if r.Added != 1 || r.FirstSeq != 2 {
		k.Errorf("after the import %d messages were added from seq %d; want 1 from 2, as m1 was imported", r.Added, r.FirstSeq)
	}
	k.verify(k.log(id))
}

func importAgain(k *kit) {
	_, id, log := k.exported()
	k.imports(id, log[:2])
	k.imports(id, log[:3])
	k.imports(id, log[1:])
	before := k.picture(id)
	k.imports(id, log)
	k.imports(id, log[2:3])
	if v := k.imports(id, nil); v != log[len(log)-1].Version {
		k.Errorf("import of nothing says the thread is at version %d; want %d", v, log[len(log)-1].Version)
	}
	if after := k.picture(id); after != before {
		k.Errorf("importing what was there changed it: %s", difference(after, before))
	}
}

func importElsewhere(k *kit) {
	id := k.create(says("one", "two"), patch(state.Set("/n", state.Int(1))))
	other := newID()
	k.imports(other, k.log(id))
	if got := k.load(other); got.Hash != k.load(id).Hash || got.Thread.ID != other || len(got.Messages) != 2 {
		k.Errorf("imported under another id the thread is %+v", got.Thread)
	}
	k.append(other, says("three"), selvage.Exact(2))
	k.verify(k.log(other))
}

func importGaps(k *kit) {
	_, id, log := k.exported()
	k.importRefused(id, log[1:], selvage.ErrConflict)
	k.importRefused(id, []selvage.Change{log[0], log[2]}, selvage.ErrInvalid)
	k.unreadable(id, selvage.ErrNotFound)
	k.importRefused("no/id", log, selvage.ErrInvalid)
}

func importTampered(k *kit) {
	for name, tamper := range map[string]func(*selvage.Change){
		"message": func(c *selvage.Change) {
			c.Messages[0] = []byte(strings.Replace(string(c.Messages[0]), "two", "too", 1))
		},
		"time":    func(c *selvage.Change) { c.At = c.At.Add(selvage.TimePrecision) },
		"seq":     func(c *selvage.Change) { c.FirstSeq++ },
		"hash":    func(c *selvage.Change) { c.Hash[3] ^= 1 },
		"prev":    func(c *selvage.Change) { c.Prev[3] ^= 1 },
		"reason":  func(c *selvage.Change) { c.Reason = selvage.ReasonDecision },
		"dropped": func(c *selvage.Change) { c.Dropped, c.Added = []int{0}, 0 },
	} {
		from := k.alone()
		log := from.log(from.create(says("one"), says("two"), says("three")))
		log[1].Messages = slices.Clone(log[1].Messages)
		tamper(&log[1])
		id := newID()
		k.importRefused(id, log, selvage.ErrCorrupt)
		h, err := k.store.Load(k.Context(), id, selvage.LoadOptions{})
		if err == nil && h.Thread.Version > 1 || err != nil && !errors.Is(err, selvage.ErrNotFound) {
			k.Errorf("with another %s of version 2 the thread came to version %d (%v); want it to end before", name, h.Thread.Version, err)
		}
	}
}

func importOther(k *kit) {
	from := k.alone()
	log := from.log(from.create(says("one"), says("two")))
	id := k.create(says("something else"), says("two"))
	before := k.picture(id)
	k.importRefused(id, log, selvage.ErrAlreadyExists)
	if after := k.picture(id); after != before {
		k.Errorf("a refused import left its mark: %s", difference(after, before))
	}
}

func importTombstones(k *kit) {
	from := k.alone()
	id := from.create(says("one", "two"), says("three"))
	first := from.log(id)
	from.delete(id, selvage.DeleteReject)
	from.append(id, says("four"), selvage.Recreate())
	second := from.log(id)
	k.imports(id, first)
	k.imports(id, second[:1])
	k.unreadable(id, selvage.ErrNotFound)
	k.refuse(id, says("x"), selvage.New(), selvage.ErrAlreadyExists)
	k.imports(id, second)
	fresh := k.alone()
	fresh.imports(id, second)
	for _, side := range []*kit{k, fresh} {
		if got, want := side.picture(id), from.picture(id); got != want {
			k.Errorf("the recreated thread is another: %s", difference(got, want))
		}
		side.append(id, says("five"), selvage.Any())
		side.verify(side.log(id))
	}
}

func importOrphan(k *kit) {
	from := k.alone()
	above := from.create(says("parent"))
	id := from.create(selvage.ChangeSet{Thread: &selvage.ThreadUpdate{ParentID: &above}})
	k.imports(id, from.log(id))
	if got := k.load(id).Thread.ParentID; got != above {
		k.Errorf("the parent is %q; want %q, though it is not there", got, above)
	}
	k.imports(above, from.log(above))
	k.selects(selvage.ThreadQuery{Parent: selvage.ChildrenOf(above)}, id)
}

func importTogether(k *kit) {
	from, id, log := k.exported()
	i, _ := selvage.As[selvage.Importer](k.store)
	k.noErrors(together(8, func(int) error {
		_, err := i.Import(k.Context(), id, log)
		return err
	}))
	if got, want := k.picture(id), from.picture(id); got != want {
		k.Errorf("imported eight times at once the thread is another: %s", difference(got, want))
	}
}
