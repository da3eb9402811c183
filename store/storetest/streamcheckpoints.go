package storetest

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
)

func streamPromises(cfg Config) []promise {
	all := []promise{
		{"CheckpointComesBack", "StreamCheckpoints.Put: everything comes back, with the time of the store.", checkpointComesBack},
		{"PutReplaces", "StreamCheckpoints.Put: there is at most one for a run, the last one put.", checkpointReplaces},
		{"DeleteMayBeRepeated", "StreamCheckpoints.Delete: it is no error if there is none.", checkpointDelete},
		{"RunsAreApart", "StreamCheckpoints: a run's checkpoint is found under its thread and run alone.", checkpointsAreApart},
		{"OlderEpochIsFenced", "StreamCheckpoints.Put: what an older epoch sends after a newer one is fenced.", checkpointFenced},
		{"GoesWithItsThread", "CONTRACT 13: deleting a thread deletes its stream checkpoints, by cascade too, and none comes after.", checkpointGoes},
		{"PutOrDelete", "CONTRACT 13: no checkpoint is left of a thread that was deleted meanwhile.", checkpointOrDelete},
		{"ExpiredIsGone", "StreamCheckpoint.ExpiresAt: then it is not there any more.", checkpointExpires},
		{"Limits", "StreamCheckpoints.Put: a bad name or text is invalid, too large is too_large, no thread is not_found.", checkpointLimits},
	}
	if cfg.Reopen != nil {
		all = append(all, promise{"SurvivesClose", "ARCHITECTURE 5: an interrupted stream leaves a checkpoint for the next attempt, in another process too.", checkpointSurvives})
	}
	return all
}

func (k *kit) streams() selvage.StreamCheckpoints {
	k.Helper()
	return offered[selvage.StreamCheckpoints](k)
}

// checkpoint is the interrupted answer of a run.
func checkpoint(id selvage.ThreadID, run selvage.RunID, text string) selvage.StreamCheckpoint {
	return selvage.StreamCheckpoint{
		ThreadID: id, RunID: run, Epoch: 3, Step: 2, Attempt: 1, Model: "sim/echo", Text: text, Reasoning: "hm\u0000 <&>",
		Calls:    []selvage.ToolCall{{ID: "c1", Name: "clock", Arguments: json.RawMessage(`{"n":9007199254740993}`)}},
		InFlight: &selvage.PartialCall{ID: "c2", Name: "note", Arguments: `{"te`},
		Usage:    selvage.Usage{InputTokens: 7, OutputTokens: 3}, Cost: 13,
		RunUsage: selvage.Usage{InputTokens: 70, OutputTokens: 30, CachedTokens: 4}, RunCost: 130,
	}
}

func (k *kit) putCheckpoint(c selvage.StreamCheckpoint) {
	k.Helper()
	if err := k.streams().Put(k.Context(), c); err != nil {
		k.Fatalf("put a stream checkpoint failed: %v", err)
	}
}

func (k *kit) getCheckpoint(id selvage.ThreadID, run selvage.RunID) selvage.StreamCheckpoint {
	k.Helper()
	c, err := k.streams().Get(k.Context(), id, run)
	if err != nil {
		k.Fatalf("get a stream checkpoint failed: %v", err)
	}
	return c
}

func (k *kit) noCheckpoint(id selvage.ThreadID, run selvage.RunID) {
	k.Helper()
	_, err := k.streams().Get(k.Context(), id, run)
	k.class("get a stream checkpoint that is not there", err, selvage.ErrNotFound)
}

func checkpointComesBack(k *kit) {
	id, run := k.create(says("hello")), newRunID()
	until := time.Now().Add(time.Hour).UTC().Truncate(selvage.TimePrecision)
	put := checkpoint(id, run, "Once upon\n a time \U0001F9F5")
	put.ExpiresAt = &until
	k.putCheckpoint(put)
	got := k.getCheckpoint(id, run)
	k.isStored("the time of a checkpoint", got.UpdatedAt)
	got.UpdatedAt = time.Time{}
	k.equal("a stream checkpoint", got, put)
	if h := k.load(id); len(h.Messages) != 1 || h.Thread.Version != 1 {
		k.Errorf("with a checkpoint the thread has %d messages at version %d; want 1 and 1: it is never a message", len(h.Messages), h.Thread.Version)
	}
}

func checkpointReplaces(k *kit) {
	id, run := k.create(says("hello")), newRunID()
	for _, text := range []string{"a", "a b", "a b", "a b c"} {
		k.putCheckpoint(checkpoint(id, run, text))
	}
	last := selvage.StreamCheckpoint{ThreadID: id, RunID: run, Epoch: 4, Text: "anew"}
	k.putCheckpoint(last)
	got := k.getCheckpoint(id, run)
	got.UpdatedAt = time.Time{}
	k.equal("the checkpoint put last", got, last)
}

func checkpointDelete(k *kit) {
	id, run := k.create(says("hello")), newRunID()
	k.noCheckpoint(id, run)
	k.putCheckpoint(checkpoint(id, run, "a"))
	for range 2 {
		if err := k.streams().Delete(k.Context(), id, run); err != nil {
			k.Fatalf("delete a stream checkpoint failed: %v", err)
		}
		k.noCheckpoint(id, run)
	}
}

func checkpointsAreApart(k *kit) {
	one, two, run := k.create(says("hello")), k.create(says("hello")), newRunID()
	k.putCheckpoint(checkpoint(one, run, "one"))
	k.putCheckpoint(checkpoint(one, run+"x", "other"))
	k.noCheckpoint(two, run)
	k.putCheckpoint(checkpoint(two, run, "two"))
	if err := k.streams().Delete(k.Context(), two, run); err != nil {
		k.Fatalf("delete a stream checkpoint failed: %v", err)
	}
	if got := k.getCheckpoint(one, run); got.Text != "one" {
		k.Errorf("the checkpoint says %q; want %q", got.Text, "one")
	}
	k.getCheckpoint(one, run+"x")
}

func checkpointFenced(k *kit) {
	id, run := k.create(says("hello")), newRunID()
	newer := checkpoint(id, run, "newer")
	newer.Epoch = 5
	k.putCheckpoint(newer)
	err := k.streams().Put(k.Context(), checkpoint(id, run, "zombie"))
	k.class("put of an older epoch", err, selvage.ErrFenced)
	var fenced *selvage.FencedError
	if !errors.As(err, &fenced) || fenced.Held != 3 || fenced.Actual != 5 {
		k.Errorf("put of epoch 3 after 5 failed with %v; want an error that tells both", err)
	}
	if got := k.getCheckpoint(id, run); got.Text != "newer" {
		k.Errorf("after a zombie's put the checkpoint says %q", got.Text)
	}
	k.putCheckpoint(newer)
}

func checkpointGoes(k *kit) {
	parent := k.create(says("hello"))
	child, other, run := k.create(under(parent)), k.create(says("hello")), newRunID()
	for _, id := range []selvage.ThreadID{parent, child, other} {
		k.putCheckpoint(checkpoint(id, run, "a"))
	}
	k.delete(parent, selvage.DeleteCascade)
	k.noCheckpoint(parent, run)
	k.noCheckpoint(child, run)
	k.getCheckpoint(other, run)
	k.class("put of a deleted thread", k.streams().Put(k.Context(), checkpoint(parent, run, "late")), selvage.ErrNotFound)
	k.append(parent, says("again"), selvage.Recreate())
	k.noCheckpoint(parent, run)
	k.putCheckpoint(checkpoint(parent, run, "anew"))
}

func checkpointOrDelete(k *kit) {
	for range 10 {
		id, run := k.create(says("hello")), newRunID()
		errs := together(4, func(i int) error {
			if i == 0 {
				return k.store.Delete(k.Context(), id, selvage.DeleteReject)
			}
			for range 3 {
				if err := k.streams().Put(k.Context(), checkpoint(id, run, "a")); err != nil && !errors.Is(err, selvage.ErrNotFound) {
					return err
				}
			}
			return nil
		})
		k.noErrors(errs)
		k.noCheckpoint(id, run)
		k.append(id, says("again"), selvage.Recreate())
		k.noCheckpoint(id, run)
	}
}

func checkpointExpires(k *kit) {
	id, run := k.create(says("hello")), newRunID()
	until := time.Now().Add(shortly)
	c := checkpoint(id, run, "a")
	c.ExpiresAt, c.Epoch = &until, 9
	k.putCheckpoint(c)
	k.waitUntil(until)
	k.noCheckpoint(id, run)
	k.putCheckpoint(checkpoint(id, run, "b"))
	k.getCheckpoint(id, run)
}

func checkpointLimits(k *kit) {
	id, run := k.create(says("hello")), newRunID()
	over := time.Now().Add(-time.Second)
	for what, change := range map[string]func(*selvage.StreamCheckpoint){
		"no run":      func(c *selvage.StreamCheckpoint) { c.RunID = "" },
		"no thread":   func(c *selvage.StreamCheckpoint) { c.ThreadID = "" },
		"no UTF-8":    func(c *selvage.StreamCheckpoint) { c.Text = "\xff" },
		"no argument": func(c *selvage.StreamCheckpoint) { c.Calls[0].Arguments = json.RawMessage(`{`) },
		"half a rune": func(c *selvage.StreamCheckpoint) { c.InFlight.Arguments = "\xc3" },
		"over":        func(c *selvage.StreamCheckpoint) { c.ExpiresAt = &over },
	} {
		c := checkpoint(id, run, "a")
		change(&c)
		k.class("put of a checkpoint with "+what, k.streams().Put(k.Context(), c), selvage.ErrInvalid)
	}
	k.class("put of too much", k.streams().Put(k.Context(), checkpoint(id, run, strings.Repeat("x", selvage.MaxStreamCheckpointBytes))), selvage.ErrTooLarge)
	k.class("put of no thread", k.streams().Put(k.Context(), checkpoint(newID(), run, "a")), selvage.ErrNotFound)
	k.noCheckpoint(id, run)
	long := strings.Repeat("x", selvage.MaxStreamCheckpointBytes-1000)
	k.putCheckpoint(checkpoint(id, run, long))
	if got := k.getCheckpoint(id, run); got.Text != long {
		k.Errorf("a text of %d bytes came back with %d", len(long), len(got.Text))
	}
}

func checkpointSurvives(k *kit) {
	k = k.alone()
	id, run := k.create(says("hello")), newRunID()
	k.putCheckpoint(checkpoint(id, run, "half an ans"))
	before := k.getCheckpoint(id, run)
	k = k.restart()
	k.equal("a checkpoint after a restart", k.getCheckpoint(id, run), before)
}
