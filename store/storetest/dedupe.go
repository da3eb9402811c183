package storetest

import (
	"encoding/json"

	"github.com/selvagehq/selvage"
)

func dedupePromises() []promise {
	const rule = "CONTRACT 5: deduplication is against the visible messages and within the set, by id"
	return []promise{
		{"KnownMessageIsDropped", rule + "; the duplicate is dropped, the rest is kept, no seq is burnt.", knownMessageIsDropped},
		{"TwiceInOneSet", rule + ".", twiceInOneSet},
		{"FirstOneStays", rule + ": what is there already stays as it is.", firstOneStays},
		{"WithoutIDNothingIsADuplicate", rule + ": messages without an id are all kept.", withoutIDNothingIsADuplicate},
		{"OnlyDuplicatesMakeAVersion", "CONTRACT 3, 5: a set of which nothing is left still makes a version.", onlyDuplicatesMakeAVersion},
		{"PerThread", rule + ", of one thread.", dedupePerThread},
		{"DerivedIDsCount", rule + ", also by an id that the store gave.", derivedIDsCount},
		{"FarBack", rule + ", however long ago they were appended.", farBack},
		{"LogKeepsWhatWasSubmitted", "CONTRACT 5, 6: the log keeps the set as submitted and says which messages were dropped.", logKeepsWhatWasSubmitted},
	}
}

func knownMessageIsDropped(k *kit) {
	id := k.create(selvage.ChangeSet{Messages: []selvage.Message{say("a", "A"), say("b", "B")}})
	r := k.append(id, selvage.ChangeSet{Messages: []selvage.Message{say("c", "C"), say("a", "A"), say("d", "D"), say("b", "B"), say("e", "E")}}, selvage.Any())
	if r.FirstSeq != 3 || r.Added != 3 || r.LastSeq() != 5 {
		k.Errorf("three new messages of five have seqs %d to %d (%d added); want 3 to 5", r.FirstSeq, r.LastSeq(), r.Added)
	}
	k.equal("indexes of the dropped messages", r.Dropped, []int{1, 3})
	messages := k.load(id).Messages
	k.equal("messages", texts(messages), []string{"A", "B", "C", "D", "E"})
	for i, m := range messages {
		if m.Seq != int64(i+1) {
			k.Errorf("message %d has seq %d; want %d: a dropped message burns none", i, m.Seq, i+1)
		}
	}
	if next := k.append(id, says("F"), selvage.Any()); next.FirstSeq != 6 {
		k.Errorf("the next message has seq %d; want 6", next.FirstSeq)
	}
}

func twiceInOneSet(k *kit) {
	id := newID()
	r := k.append(id, selvage.ChangeSet{Messages: []selvage.Message{say("a", "first"), say("a", "second"), say("b", "B"), say("a", "third")}}, selvage.New())
	k.equal("indexes of the dropped messages", r.Dropped, []int{1, 3})
	k.equal("messages", texts(k.load(id).Messages), []string{"first", "B"})
}

func firstOneStays(k *kit) {
	first := say("a", "first")
	first.Metadata = map[string]json.RawMessage{"n": json.RawMessage("1")}
	id := k.create(selvage.ChangeSet{Messages: []selvage.Message{first}})
	before := k.load(id).Messages
	second := selvage.Message{ID: "a", Role: selvage.RoleAssistant, Content: selvage.Text("second"), Visibility: selvage.VisibleInternal}
	k.append(id, selvage.ChangeSet{Messages: []selvage.Message{second}}, selvage.Any())
	k.equal("the message after another one came with its id", k.load(id).Messages, before)
}

func withoutIDNothingIsADuplicate(k *kit) {
	id := k.create(says("same", "same"), says("same"))
	messages := k.load(id).Messages
	k.equal("messages", texts(messages), []string{"same", "same", "same"})
	seen := make(map[string]bool)
	for _, m := range messages {
		if m.ID == "" || seen[m.ID] {
			k.Errorf("the ids of three messages are %q, %q and %q; want three different ones", messages[0].ID, messages[1].ID, messages[2].ID)
		}
		seen[m.ID] = true
	}
}

func onlyDuplicatesMakeAVersion(k *kit) {
	id := k.create(selvage.ChangeSet{Messages: []selvage.Message{say("a", "A")}})
	r := k.append(id, selvage.ChangeSet{Messages: []selvage.Message{say("a", "A")}}, selvage.Exact(1))
	if r.Version != 2 || r.Added != 0 || r.FirstSeq != 2 {
		k.Errorf("a set of one duplicate answers version %d, %d added, first seq %d; want 2, none, 2 (the next one)", r.Version, r.Added, r.FirstSeq)
	}
	k.equal("messages", texts(k.load(id).Messages), []string{"A"})
}

func dedupePerThread(k *kit) {
	shared := "m-" + selvage.NewID()
	one := k.create(selvage.ChangeSet{Messages: []selvage.Message{say(shared, "one")}})
	two := k.create(says("hello"), selvage.ChangeSet{Messages: []selvage.Message{say(shared, "two")}})
	k.equal("messages of the first thread", texts(k.load(one).Messages), []string{"one"})
	k.equal("messages of the second thread", texts(k.load(two).Messages), []string{"hello", "two"})
}

func derivedIDsCount(k *kit) {
	id := k.create(says("hello", "world"), says("again"))
	whole := k.load(id).Messages // a client that sends the history it was shown
	r := k.append(id, selvage.ChangeSet{Messages: append(whole, say("", "new"))}, selvage.Any())
	k.equal("indexes of the dropped messages", r.Dropped, []int{0, 1, 2})
	k.equal("messages", texts(k.load(id).Messages), []string{"hello", "world", "again", "new"})
}

func farBack(k *kit) {
	id := k.create(selvage.ChangeSet{Messages: []selvage.Message{say("a", "A")}})
	for range 5 {
		k.append(id, says(make([]string, 100)...), selvage.Any())
	}
	if r := k.append(id, selvage.ChangeSet{Messages: []selvage.Message{say("a", "A")}}, selvage.Any()); r.Added != 0 {
		k.Errorf("a message that came 501 messages ago was added again; want it dropped")
	}
}

func logKeepsWhatWasSubmitted(k *kit) {
	id := k.create(selvage.ChangeSet{Messages: []selvage.Message{say("a", "first")}})
	k.append(id, selvage.ChangeSet{Messages: []selvage.Message{say("a", "second"), say("b", "B")}}, selvage.Any())
	c := k.change(id, 2)
	if len(c.Messages) != 2 || c.Added != 1 {
		k.Fatalf("the log has %d messages submitted and %d added; want 2 and 1", len(c.Messages), c.Added)
	}
	k.equal("indexes of the dropped messages", c.Dropped, []int{0})
	added, err := c.AddedMessages()
	if err != nil {
		k.Fatalf("added messages: %v", err)
	}
	k.equal("added messages", added, k.load(id).Messages[1:])
}
