package storetest

import (
	"bytes"
	"encoding/json"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

func chainPromises() []promise {
	return []promise{
		{"EveryChangeVerifies", "CONTRACT 6: the hash is SHA-256 over format, previous hash, version, first seq, time and content digest.", everyChangeVerifies},
		{"HeadIsTheLastLink", "CONTRACT 6: the head's hash is that of the last change.", headIsTheLastLink},
		{"BytesAreVerbatim", "CONTRACT 6: part digests are over the received bytes, and Changes returns those bytes verbatim.", bytesAreVerbatim},
		{"SaltsDiffer", "ARCHITECTURE 3b: each digest is salted, so that a short secret cannot be guessed from what stays.", saltsDiffer},
		{"TamperingShows", "ARCHITECTURE 1: history is evidence: a changed byte does not verify.", tamperingShows},
		{"TombstoneIsALink", "CONTRACT 13: delete appends a final change whose header survives as the tombstone; CONTRACT 3: recreating continues its hash.", tombstoneIsALink},
	}
}

// verify proves that the changes are a chain: each follows the one before it,
// and each body is the one that was appended. A chain that begins with version
// 1 begins with the zero hash.
func (k *kit) verify(log []selvage.Change) {
	k.Helper()
	for i := range log {
		c := &log[i]
		prev := c.Prev // of a chain that begins with a tombstone
		switch {
		case i > 0:
			prev = log[i-1].Hash
			if c.Version != log[i-1].Version+1 {
				k.Errorf("version %d follows version %d in the log; want no gap and no repetition", c.Version, log[i-1].Version)
			}
		case c.Version == 1:
			prev = selvage.Hash{}
		}
		if err := c.Verify(prev); err != nil {
			k.Errorf("the chain does not hold at version %d: %v", c.Version, err)
		}
		k.isStored("the time of a change", c.At)
	}
}

// history appends one set of each sort and returns them.
func (k *kit) history(id selvage.ThreadID) []selvage.ChangeSet {
	k.Helper()
	rich := richSet()
	sets := []selvage.ChangeSet{
		says("hello"),
		{},
		rich,
		{Messages: []selvage.Message{say(rich.Messages[0].ID, "a duplicate"), say("", "new")}},
		patch(state.Set("/deep/er", state.String("<&> 🧵")), state.Increment("/n", state.Int(1))),
		runSet(done(string(rich.RunID))),
		{Thread: &selvage.ThreadUpdate{Title: ptr("")}},
		{Events: []selvage.EventDraft{{Kind: "note"}}, Calls: []selvage.CallUpdate{{CallID: "call-1", Status: selvage.CallSucceeded}}},
	}
	pre := selvage.New()
	for i := range sets {
		if sets[i].ID == "" {
			sets[i].ID = "set-" + selvage.NewID()
		}
		k.append(id, sets[i], pre)
		pre = selvage.Any()
	}
	return sets
}

func everyChangeVerifies(k *kit) {
	id := newID()
	sets := k.history(id)
	log := k.log(id)
	if len(log) != len(sets) {
		k.Fatalf("the log holds %d changes; want %d", len(log), len(sets))
	}
	k.verify(log)
	if !log[0].Prev.IsZero() {
		k.Errorf("version 1 follows hash %s; want the zero hash", log[0].Prev)
	}
	next := int64(1)
	for _, c := range log {
		if c.ThreadID != id || c.FirstSeq != next {
			k.Errorf("change %d is of thread %q with first seq %d; want %q and %d", c.Version, c.ThreadID, c.FirstSeq, id, next)
		}
		next = c.LastSeq() + 1
	}
}

func headIsTheLastLink(k *kit) {
	id := newID()
	pre := selvage.New()
	for range 5 {
		r := k.append(id, says("hello"), pre)
		pre = selvage.Any()
		if h, c := k.load(id), k.change(id, r.Version); h.Hash != c.Hash || r.Hash != c.Hash {
			k.Errorf("at version %d the head has hash %s, the receipt %s, the change %s; want them equal", r.Version, h.Hash, r.Hash, c.Hash)
		}
	}
}

func bytesAreVerbatim(k *kit) {
	id := newID()
	for i, set := range k.history(id) {
		want, err := selvage.EncodeBody(&set)
		if err != nil {
			k.Fatalf("encode set %d: %v", i, err)
		}
		c := k.change(id, selvage.Version(i+1))
		if len(c.Messages) != len(want.Messages) {
			k.Fatalf("version %d has %d messages; want the %d that were submitted", c.Version, len(c.Messages), len(want.Messages))
		}
		for j := range want.Messages {
			if !bytes.Equal(c.Messages[j], want.Messages[j]) {
				k.Errorf("version %d, message %d: %s", c.Version, j, difference(string(c.Messages[j]), string(want.Messages[j])))
			}
		}
		if !bytes.Equal(c.Rest, want.Rest) {
			k.Errorf("version %d, the rest: %s", c.Version, difference(string(c.Rest), string(want.Rest)))
		}
		if len(c.Salt) != selvage.SaltSize {
			k.Errorf("version %d has a salt of %d bytes; want %d", c.Version, len(c.Salt), selvage.SaltSize)
		}
	}
}

func saltsDiffer(k *kit) {
	id := k.create(says("yes"), says("yes"))
	one, two := k.change(id, 1), k.change(id, 2)
	if bytes.Equal(one.Salt, two.Salt) || one.Content == two.Content {
		k.Errorf("two sets with the same text have the salts %x and %x, the digests %s and %s; want both different", one.Salt, two.Salt, one.Content, two.Content)
	}
}

func tamperingShows(k *kit) {
	id := newID()
	k.history(id)
	for v, change := range map[string]func(*selvage.Change){
		"a message": func(c *selvage.Change) {
			c.Messages[1] = bytes.Replace(c.Messages[1], []byte("look"), []byte("leak"), 1)
		},
		"the rest":      func(c *selvage.Change) { c.Rest = json.RawMessage("{}") },
		"the salt":      func(c *selvage.Change) { c.Salt[0] ^= 1 },
		"the run":       func(c *selvage.Change) { c.RunID += "x" },
		"the reason":    func(c *selvage.Change) { c.Reason = selvage.ReasonDecision },
		"the time":      func(c *selvage.Change) { c.At = c.At.Add(selvage.TimePrecision) },
		"the first seq": func(c *selvage.Change) { c.FirstSeq++ },
		"the version":   func(c *selvage.Change) { c.Version++ },
	} {
		c := k.change(id, 3)
		prev := c.Prev
		if err := c.Verify(prev); err != nil {
			k.Fatalf("version 3 does not verify: %v", err)
		}
		change(&c)
		if c.Verify(prev) == nil {
			k.Errorf("version 3 verifies although %s was changed", v)
		}
	}
}

func tombstoneIsALink(k *kit) {
	id := newID()
	k.history(id)
	last := k.load(id).Hash
	k.delete(id, selvage.DeleteReject)
	r := k.append(id, says("again"), selvage.Recreate())
	log := k.log(id)
	if len(log) != 2 || log[0].Reason != selvage.ReasonDeleted || log[0].Version != r.Version-1 {
		k.Fatalf("the log of a recreated thread is %s; want its tombstone, then version %d", encode(k, log), r.Version)
	}
	k.verify(log)
	if log[0].Prev != last {
		k.Errorf("the tombstone follows hash %s; want %s, the last one before it", log[0].Prev, last)
	}
}
