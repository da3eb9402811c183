package storetest

import (
	"github.com/selvagehq/selvage"
)

// importRewound imports a thread that was rewound, a fork of it that took
// several versions, and, where that is offered, both after compaction.
func importRewound(k *kit) {
	from := k.alone()
	id := from.create(turn("a"), turn("b"), turn("c"), back(1), turn("d"), back(3), turn("e"), back(5), turn("f"))
	all := []selvage.ThreadID{id}
	if _, ok := selvage.As[selvage.Forker](from.store); ok {
		all = append(all, from.fork(id, 0), from.fork(id, 7))
		from.append(all[1], turn("g"), selvage.Any())
	}
	check := func(id selvage.ThreadID, first selvage.Version) {
		k.Helper()
		log := from.log(id)
		k.imports(id, log)
		if is, was := k.picture(id), from.picture(id); is != was {
			k.Errorf("the imported thread is not the one that was exported: %s", difference(is, was))
		}
		for v := first; v <= log[len(log)-1].Version; v++ {
			k.equal("the state of the import at a version", k.state(id, v), from.state(id, v))
			q := selvage.MessageQuery{At: v, Visibility: selvage.ShowAll}
			k.equal("the messages of the import at a version", k.allMessages(id, q), from.allMessages(id, q))
		}
		set := selvage.ChangeSet{Messages: []selvage.Message{say("a", "x"), say("b", "x"), say("d", "x"), say("z", "x")}}
		k.equal("which ids the import knows", k.append(id, set, selvage.Any()).Dropped, from.append(id, set, selvage.Any()).Dropped)
	}
	for _, id := range all {
		check(id, 1)
	}
	if _, ok := selvage.As[selvage.Compactor](from.store); !ok {
		return
	}
	late := from.create(turn("a"), turn("b"), back(1), turn("c"), turn("d"), back(2), turn("e"), turn("f"), turn("g"))
	from.compact(late, 1)
	check(late, 9)
}
