package storetest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/selvagehq/selvage"
)

func erasePromises() []promise {
	const rule = "CONTRACT 16: message content leaves by erase, which leaves a placeholder with the digest"
	return []promise{
		{"ContentGoes", rule + "; nothing that can be read tells what was erased.", contentGoes},
		{"AllElseStays", "Eraser.Erase: versions, seqs, ids, hashes, event positions and what was not named stay as they were.", allElseStays},
		{"ChainHolds", "CONTRACT 6, 16: the chain verifies after an erasure as it did before.", chainHoldsErased},
		{"SaltsGo", "ARCHITECTURE 3b: the salt goes with the content, so that a short secret cannot be guessed from what stays.", saltsGo},
		{"TheLogTells", "Eraser.Erase: the change it appends tells of every copy that went, and proves it.", theLogTells},
		{"RepeatableByID", "Eraser.Erase: the same id and messages answer the first receipt; another use of the id is already_exists.", erasureIsRepeatable},
		{"TwiceDoesNoHarm", "Eraser.Erase: messages that were erased before do no harm.", erasedTwice},
		{"WhatIsNotThere", "Eraser.Erase: messages that are not there, and requests that make no sense, are refused and nothing is erased.", erasureRefused},
		{"DroppedDuplicatesGo", "Eraser.Erase: copies that were submitted again and dropped go, too.", droppedDuplicatesGo},
		{"HiddenMessagesGo", "Eraser.Erase: copies that a rewind hid go, too, and one that bears the id since.", hiddenMessagesGo},
		{"ReceiptsStay", "CONTRACT 2: receipts stay complete: the set whose messages were erased is still known.", erasedSetsAreKnown},
		{"IDsStay", "CONTRACT 5: the id of an erased message is still taken.", erasedIDsStay},
		{"DerivedIDs", "Eraser.Erase: a message is erased by the id the store gave it.", erasedByDerivedID},
		{"PagesGoOn", "CONTRACT 17: a list begun before an erasure goes on after it, and skips and repeats nothing.", pagesGoOnErased},
		{"BesideWriters", "Eraser.Erase: all of it happens in one transaction, beside other writers.", eraseBesideWriters},
		{"OnlySkeletonsByErasure", "Message.Erased: only a store says so.", erasedIsNotSubmitted},
	}
}

// retentionGroups are the promises about what leaves a history.
func retentionGroups(cfg Config) []group {
	all := []group{
		{name: "Erase", promises: erasePromises(), offered: needs[selvage.Eraser]},
		{name: "Compact", promises: compactPromises(), offered: needs[selvage.Compactor]},
	}
	if cfg.Reopen != nil {
		all = append(all, group{name: "EraseReopen", promises: eraseReopenPromises(), offered: needs[selvage.Eraser]},
			group{name: "CompactReopen", promises: compactReopenPromises(), offered: needs[selvage.Compactor]})
	}
	return all
}

func eraseReopenPromises() []promise {
	return []promise{
		{"ErasedStaysErased", "Eraser.Erase: it is for good; a restart brings nothing back.", erasedStaysErased},
	}
}

// secret is what is to be erased wherever it stands.
const secret = "the <secret> & \u00e9"

// erase erases messages, which must succeed.
func (k *kit) erase(id selvage.ThreadID, messages ...string) selvage.Receipt {
	k.Helper()
	r, err := k.eraser().Erase(k.Context(), id, selvage.EraseRequest{Messages: messages})
	if err != nil {
		k.Fatalf("erase %v failed: %v", messages, err)
	}
	return r
}

func (k *kit) eraser() selvage.Eraser {
	k.Helper()
	e, ok := selvage.As[selvage.Eraser](k.store)
	if !ok {
		k.Fatalf("a %T offers no Eraser", k.store)
	}
	return e
}

// refuseErase erases, which must fail and leave no mark.
func (k *kit) refuseErase(id selvage.ThreadID, req selvage.EraseRequest, class error) {
	k.Helper()
	before := k.picture(id)
	_, err := k.eraser().Erase(k.Context(), id, req)
	k.class(fmt.Sprintf("erase of %d messages %.3q", len(req.Messages), req.Messages), err, class)
	if after := k.picture(id); after != before {
		k.Errorf("the erasure was refused (%v), yet it left its mark: %s", err, difference(after, before))
	}
}

// confession is a set that tells the secret in everything an erasure covers.
func confession() selvage.ChangeSet {
	return selvage.ChangeSet{ID: "set-" + selvage.NewID(), Messages: []selvage.Message{
		say("before", "harmless"),
		{ID: "user", Role: selvage.RoleUser, Content: selvage.Content{
			{Type: selvage.PartText, Text: secret}, {Type: selvage.PartFile, Name: secret, Data: []byte(secret)},
			{Type: selvage.PartData, Value: json.RawMessage(`"` + secret + `"`)},
		}, Metadata: map[string]json.RawMessage{"k": json.RawMessage(`"` + secret + `"`)}},
		{ID: "call", Role: selvage.RoleAssistant, Step: 2, RunID: "run-own", Visibility: selvage.VisibleInternal,
			ToolCalls: []selvage.ToolCall{{ID: "c-1", Name: "pay", Arguments: json.RawMessage(`{"to":"` + secret + `"}`)}}},
		{ID: "answer", Role: selvage.RoleTool, ToolCallID: "c-1", Content: selvage.Text(secret)},
		say("after", "harmless, too"),
	}, Events: []selvage.EventDraft{{Kind: "note"}}}
}

// confessed are the ids of the messages that tell the secret.
var confessed = []string{"user", "call", "answer"}

func contentGoes(k *kit) {
	id := k.create(says("hello"), confession(), says("bye"))
	if !strings.Contains(k.picture(id), "secret") {
		k.Fatal("the secret cannot be read before it is erased; the test tests nothing")
	}
	k.erase(id, confessed...)
	if p := k.picture(id); strings.Contains(p, "secret") {
		k.Errorf("the secret can still be read: %s", p[max(0, strings.Index(p, "secret")-200):])
	}
	for _, c := range k.log(id) {
		if data := encode(k, k.changeEvents(&c)); strings.Contains(data, "secret") {
			k.Errorf("the events of version %d still tell: %s", c.Version, data)
		}
	}
	messages := k.allMessages(id, selvage.MessageQuery{Visibility: selvage.ShowAll})
	k.equal("the messages that are left", skeletons(messages), []string{
		"1 user", "2 user before", "3 user user erased", "4 assistant call internal run-own 2 [c-1 pay ] erased",
		"5 tool answer c-1 erased", "6 user after", "7 user"})
	k.equal("the messages that load answers", k.load(id).Messages, messages)
	if got := texts(messages)[1]; got != "harmless" {
		k.Errorf("the message before says %q; want it as it was", got)
	}
}

// skeletons are what an erasure leaves of messages, in short. Ids that the store
// gave are left out.
func skeletons(messages []selvage.Message) []string {
	var out []string
	for _, m := range messages {
		words := []string{fmt.Sprint(m.Seq), string(m.Role)}
		if len(m.ID) < 36 {
			words = append(words, m.ID)
		}
		if m.ToolCallID != "" {
			words = append(words, m.ToolCallID)
		}
		if m.Internal() {
			words = append(words, "internal", string(m.RunID), fmt.Sprint(m.Step))
		}
		if len(m.ToolCalls) > 0 {
			words = append(words, fmt.Sprintf("[%s %s %s]", m.ToolCalls[0].ID, m.ToolCalls[0].Name, m.ToolCalls[0].Arguments))
		}
		if m.Erased {
			words = append(words, "erased")
		}
		out = append(out, strings.Join(words, " "))
	}
	return out
}

func (k *kit) changeEvents(c *selvage.Change) []selvage.Event {
	k.Helper()
	events, err := c.Events()
	if err != nil {
		k.Fatalf("the events of version %d: %v", c.Version, err)
	}
	return events
}

// outline is what of a log neither erasure nor compaction touches.
func (k *kit) outline(log []selvage.Change) []string {
	k.Helper()
	var lines []string
	for i := range log {
		c := log[i]
		var places []string
		for _, e := range k.changeEvents(&c) {
			places = append(places, e.Position.String()+" "+string(e.Kind))
		}
		c.Salt, c.Parts, c.Messages, c.Rest, c.Base = nil, nil, nil, nil, nil
		lines = append(lines, encode(k, c)+strings.Join(places, ", "))
	}
	return lines
}

func allElseStays(k *kit) {
	id := newID()
	k.history(id)
	k.append(id, confession(), selvage.Any())
	before, log, head := k.outline(k.log(id)), k.log(id), k.load(id)
	r := k.erase(id, confessed...)
	after := k.log(id)
	k.equal("the log before the erasure", k.outline(after[:len(log)]), before)
	for i := range log[:len(log)-1] {
		k.equal(fmt.Sprintf("version %d, which has none of the messages", log[i].Version), after[i], log[i])
	}
	last := &log[len(log)-1]
	for _, i := range []int{0, 4} {
		k.equal("a message beside them", string(after[len(log)-1].Messages[i]), string(last.Messages[i]))
	}
	k.equal("the rest beside them", string(after[len(log)-1].Rest), string(last.Rest))
	now := k.load(id)
	if now.Thread.Version != head.Thread.Version+1 || now.NextSeq != head.NextSeq || r.Version != now.Thread.Version || r.Hash != now.Hash || r.Added != 0 {
		k.Errorf("after an erasure the thread is at version %d with next seq %d, the receipt says %s; want one version more and no message",
			now.Thread.Version, now.NextSeq, encode(k, r))
	}
	k.equal("the state", now.State, head.State)
	k.equal("the thread", now.Thread.Title, head.Thread.Title)
}

func chainHoldsErased(k *kit) {
	id := newID()
	k.history(id)
	for _, m := range k.allMessages(id, selvage.MessageQuery{Visibility: selvage.ShowAll}) {
		k.erase(id, m.ID)
		k.verify(k.log(id))
	}
	k.append(id, says("goes on"), selvage.Any())
	k.verify(k.log(id))
	for _, m := range k.load(id).Messages[:4] {
		if !m.Erased {
			k.Errorf("message %d was not erased", m.Seq)
		}
	}
}

func saltsGo(k *kit) {
	id := k.create(confession())
	before := k.change(id, 1)
	k.erase(id, "user")
	c := k.change(id, 1)
	if c.Salt != nil || len(c.Parts) == 0 || c.Parts[1].Salt != nil {
		k.Errorf("the salt of an erased message is still there: %s", encode(k, c))
	}
	if strings.Contains(encode(k, c), encode(k, before.Salt)) {
		k.Error("the salt that the others come from is still there")
	}
	k.equal("the erased messages of the change", c.Erased(), []int{1})
}
