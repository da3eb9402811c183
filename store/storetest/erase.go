package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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

func theLogTells(k *kit) {
	id := k.create(confession())
	r := k.erase(id, "user", "answer")
	c := k.change(id, r.Version)
	if c.Reason != selvage.ReasonErased || c.ID != r.ChangeID {
		k.Errorf("the change has reason %s and id %s; want %s and %s", c.Reason, c.ID, selvage.ReasonErased, r.ChangeID)
	}
	events := k.changeEvents(&c)
	if len(events) != 1 || r.Events != 1 || events[0].Kind != selvage.EventErased {
		k.Fatalf("it makes the events %s, and its receipt says %d; want one of kind %s", encode(k, events), r.Events, selvage.EventErased)
	}
	var told selvage.Erasure
	if err := json.Unmarshal(events[0].Payload, &told); err != nil || len(told.Messages) != 2 {
		k.Fatalf("its payload is %s (%v); want two messages", events[0].Payload, err)
	}
	first := k.change(id, 1)
	for i, want := range []selvage.ErasedMessage{{ID: "user", Seq: 2, Index: 1, Version: 1}, {ID: "answer", Seq: 4, Index: 3, Version: 1}} {
		is := told.Messages[i]
		if is.ID != want.ID || is.Seq != want.Seq || is.Index != want.Index || is.Version != want.Version {
			k.Errorf("it tells of %s; want %s", encode(k, is), encode(k, want))
		}
		if err := first.CheckErased(&is); err != nil {
			k.Errorf("what it tells does not fit: %v", err)
		}
	}
}

func erasureIsRepeatable(k *kit) {
	id := k.create(confession())
	req := selvage.EraseRequest{ID: "erase-" + selvage.NewID(), Messages: []string{"user", "call"}}
	first, err := k.eraser().Erase(k.Context(), id, req)
	if err != nil {
		k.Fatalf("erase failed: %v", err)
	}
	before := k.picture(id)
	req.Messages = []string{"call", "user", "user"}
	again, err := k.eraser().Erase(k.Context(), id, req)
	if err != nil || !again.Replayed {
		k.Fatalf("the same erasure again: %s, %v; want a replay", encode(k, again), err)
	}
	first.Replayed = true
	k.equal("the receipt of the replay", again, first)
	if after := k.picture(id); after != before {
		k.Errorf("a replay left its mark: %s", difference(after, before))
	}
	req.Messages = []string{"user"}
	k.refuseErase(id, req, selvage.ErrAlreadyExists)
	k.refuse(id, selvage.ChangeSet{ID: req.ID}, selvage.Any(), selvage.ErrAlreadyExists)
	set := confession()
	set.Messages = nil
	k.append(id, set, selvage.Any())
	k.refuseErase(id, selvage.EraseRequest{ID: set.ID, Messages: confessed}, selvage.ErrAlreadyExists)
}

func erasedTwice(k *kit) {
	id := k.create(confession())
	k.erase(id, "user")
	before := k.change(id, 1)
	r := k.erase(id, "user")
	if r.Version != 3 || r.Replayed {
		k.Errorf("a second erasure answers %s; want version 3", encode(k, r))
	}
	k.equal("what the first one left", k.change(id, 1), before)
	k.erase(id, confessed...)
	if c := k.change(id, 1); len(c.Erased()) != 3 {
		k.Errorf("messages %v are erased; want three", c.Erased())
	}
	k.verify(k.log(id))
}

func erasureRefused(k *kit) {
	id := k.create(confession())
	k.refuseErase(id, selvage.EraseRequest{Messages: []string{"user", "nobody"}}, selvage.ErrNotFound)
	k.refuseErase(id, selvage.EraseRequest{}, selvage.ErrInvalid)
	k.refuseErase(id, selvage.EraseRequest{Messages: []string{"user", ""}}, selvage.ErrInvalid)
	k.refuseErase(id, selvage.EraseRequest{ID: "a/b", Messages: []string{"user"}}, selvage.ErrInvalid)
	k.refuseErase(id, selvage.EraseRequest{Messages: slices.Repeat([]string{"user"}, selvage.MaxSetMessages+1)}, selvage.ErrTooLarge)
	k.refuseErase("a/b", selvage.EraseRequest{Messages: []string{"user"}}, selvage.ErrInvalid)
	k.refuseErase(newID(), selvage.EraseRequest{Messages: []string{"user"}}, selvage.ErrNotFound)
	k.delete(id, selvage.DeleteReject)
	k.refuseErase(id, selvage.EraseRequest{Messages: []string{"user"}}, selvage.ErrGone)
	k.append(id, says("again"), selvage.Recreate())
	k.refuseErase(id, selvage.EraseRequest{Messages: []string{"user"}}, selvage.ErrNotFound)
}

func droppedDuplicatesGo(k *kit) {
	id := k.create(selvage.ChangeSet{Messages: []selvage.Message{say("a", "first")}},
		selvage.ChangeSet{Messages: []selvage.Message{say("a", secret), say("b", "B")}})
	r := k.erase(id, "a")
	if p := k.picture(id); strings.Contains(p, "secret") {
		k.Error("a duplicate that was dropped still tells")
	}
	told, err := ptr(k.change(id, r.Version)).Erasures()
	if err != nil || len(told) != 2 || told[0].Seq != 1 || told[1].Version != 2 || told[1].Seq != 0 {
		k.Errorf("the erasure tells of %s (%v); want message 1 and the duplicate, which has no seq", encode(k, told), err)
	}
	k.verify(k.log(id))
	k.equal("the messages", skeletons(k.load(id).Messages), []string{"1 user a erased", "2 user b"})
}

func hiddenMessagesGo(k *kit) {
	id := k.create(says("hello"), selvage.ChangeSet{Messages: []selvage.Message{say("a", secret)}})
	back := selvage.ChangeSet{Rewind: ptr(selvage.Version(1))}
	k.append(id, back, selvage.Any())
	k.erase(id, "a")
	k.append(id, selvage.ChangeSet{Messages: []selvage.Message{say("a", secret)}}, selvage.Any())
	k.append(id, back, selvage.Any())
	k.append(id, selvage.ChangeSet{Messages: []selvage.Message{say("a", secret)}}, selvage.Any())
	r := k.erase(id, "a")
	if p := k.picture(id); strings.Contains(p, "secret") {
		k.Error("the secret can still be read")
	}
	told, err := ptr(k.change(id, r.Version)).Erasures()
	if err != nil || len(told) != 3 {
		k.Errorf("the erasure tells of %s (%v); want three copies", encode(k, told), err)
	}
	k.verify(k.log(id))
	for v := selvage.Version(1); v <= r.Version; v++ {
		k.allMessages(id, selvage.MessageQuery{At: v})
	}
}

func erasedSetsAreKnown(k *kit) {
	id := k.create(says("hello"))
	set := confession()
	first := k.append(id, set, selvage.Any())
	k.erase(id, "user", "call")
	k.replay(id, set, selvage.Any(), first)
	other := confession()
	other.ID = set.ID
	other.Messages[0] = say("before", "something else")
	k.refuse(id, other, selvage.Any(), selvage.ErrAlreadyExists)
	other.Messages[0] = set.Messages[0]
	other.Messages[1].Role = selvage.RoleSystem
	k.refuse(id, other, selvage.Any(), selvage.ErrAlreadyExists)
	other.Messages = set.Messages[:4]
	k.refuse(id, other, selvage.Any(), selvage.ErrAlreadyExists)
}

func erasedIDsStay(k *kit) {
	id := k.create(confession())
	k.erase(id, "user")
	if r := k.append(id, selvage.ChangeSet{Messages: []selvage.Message{say("user", "anew")}}, selvage.Any()); r.Added != 0 {
		k.Error("a message with the id of an erased one was added; want it dropped")
	}
}

func erasedByDerivedID(k *kit) {
	id := k.create(says("hello", secret, "bye"))
	m := k.load(id).Messages[1]
	k.erase(id, m.ID)
	got := k.load(id).Messages
	k.equal("the texts", texts(got), []string{"hello", "", "bye"})
	if !got[1].Erased || got[1].ID != m.ID || !got[1].CreatedAt.Equal(m.CreatedAt) {
		k.Errorf("the erased message is %s; want the id %s and its time to stay", encode(k, got[1]), m.ID)
	}
}

func pagesGoOnErased(k *kit) {
	id := k.create(says("1", "2", "3"), says("4", "5"), says("6"))
	ids := k.load(id).Messages
	for _, order := range []selvage.Order{selvage.Ascending, selvage.Descending} {
		read := k.messagePages(id, selvage.MessageQuery{Limit: ptr(2), Order: order})
		got := walkAnd(k, read, func(page int, _ []selvage.Message) {
			k.erase(id, ids[page].ID, ids[3].ID)
		})
		if len(got) != 6 {
			k.Errorf("%s: %d messages came in pages between which some were erased; want 6", order, len(got))
		}
	}
}

func eraseBesideWriters(k *kit) {
	id := k.create(says("hello"))
	const writers, each = 4, 12
	errs := together(2*writers, func(i int) error {
		for n := range each {
			name := fmt.Sprintf("m-%d-%d", i/2, n)
			if i%2 == 0 {
				set := selvage.ChangeSet{Messages: []selvage.Message{say(name, secret)}}
				if _, err := k.store.Append(k.Context(), id, set, selvage.Any()); err != nil {
					return err
				}
				continue
			}
			for {
				_, err := k.eraser().Erase(k.Context(), id, selvage.EraseRequest{Messages: []string{name}})
				if err == nil {
					break
				}
				if !errors.Is(err, selvage.ErrNotFound) {
					return err
				}
			}
		}
		return nil
	})
	k.noErrors(errs)
	if strings.Contains(k.picture(id), "secret") {
		k.Error("the secret can still be read")
	}
	log := k.log(id)
	k.verify(log)
	if want := 1 + 2*writers*each; len(log) != want {
		k.Errorf("the log has %d versions; want %d", len(log), want)
	}
}

func erasedIsNotSubmitted(k *kit) {
	id := k.create(says("hello"))
	m := say("m", "not really")
	m.Erased = true
	k.refuseField(id, selvage.ChangeSet{Messages: []selvage.Message{m}}, selvage.Any(), "messages[0].erased")
	k.refuseField(id, selvage.ChangeSet{Reason: selvage.ReasonErased}, selvage.Any(), "reason")
}

func erasedStaysErased(k *kit) {
	k = k.alone()
	set := confession()
	id := k.create(says("hello"))
	first := k.append(id, set, selvage.Any())
	r := k.erase(id, confessed...)
	before := k.picture(id)
	k = k.restart()
	if after := k.picture(id); after != before {
		k.Fatalf("a restart changed what can be read: %s", difference(after, before))
	}
	k.verify(k.log(id))
	k.replay(id, set, selvage.Any(), first)
	again, err := k.eraser().Erase(k.Context(), id, selvage.EraseRequest{ID: r.ChangeID, Messages: confessed})
	if err != nil || !again.Replayed || again.Version != r.Version {
		k.Errorf("the same erasure after a restart: %s, %v; want a replay", encode(k, again), err)
	}
}
