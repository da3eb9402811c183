package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

func readFaults() []fault {
	return []fault{
		{"answers the head's state for any version", func(f *faulty) {
			f.state = func(ctx context.Context, id selvage.ThreadID, _ selvage.Version) (state.Document, error) {
				return f.sound.State(ctx, id, 0)
			}
		}, []string{"State/AtAnyVersion", "State/FoldOfTheLog", "State/NotReached", "State/SnapshotReplaces", "State/FormerLifeIsGone", "Sequences/Seed2"}},
		{"reads numbers as floats", floats, []string{"State/NumbersStayExact"}},
		{"loses control characters", func(f *faulty) { cleanText(f) }, []string{"State/TextStaysExact"}},
		{"forgets the order of patches", onAppend(reversePatches), []string{"State/PatchesApplyInOrder"}},
		{"starts the state over with every change", func(f *faulty) { forgetful(f) }, []string{"State/OtherChangesLeaveItAlone"}},
		{"decodes metadata", decodeMetadata, []string{"Messages/VerbatimJSON"}},
		{"decodes a thread's metadata", decodeThread, []string{"Threads/MetadataIsVerbatim"}},
		{"encodes the log again", escapeLog, []string{"Chain/BytesAreVerbatim", "Chain/EveryChangeVerifies"}},
		{"loses the link to the change before", onChange(func(c *selvage.Change) { c.Prev = selvage.Hash{} }), []string{"Chain/EveryChangeVerifies", "Chain/TombstoneIsALink", "Sequences/Seed1"}},
		{"hashes something else", onChange(func(c *selvage.Change) { c.Hash[0] ^= 1 }), []string{"Chain/HeadIsTheLastLink", "Chain/EveryChangeVerifies"}},
		{"uses no salt", onChange(func(c *selvage.Change) { c.Salt = make([]byte, selvage.SaltSize) }), []string{"Chain/SaltsDiffer", "Chain/TamperingShows"}},
		{"forgets what was dropped", onChange(func(c *selvage.Change) { c.Dropped = nil }), []string{"Dedupe/LogKeepsWhatWasSubmitted", "Changes/EventsDerive", "Changes/PrefixIsTheVersion"}},
		{"logs another set", onChange(func(c *selvage.Change) { c.Rest = json.RawMessage("{}") }), []string{"Changes/SetsComeBack", "State/FoldOfTheLog", "Idempotency/SetOfTheLogReplays"}},
		{"ignores the window", func(f *faulty) {
			f.load = func(ctx context.Context, id selvage.ThreadID, _ selvage.LoadOptions) (selvage.Head, error) {
				return f.sound.Load(ctx, id, selvage.LoadOptions{})
			}
		}, []string{"Load/WindowOfMessages"}},
		{"loads in two steps", torn, []string{"Concurrency/LoadIsOnePoint"}},
		{"caches what it loads", cacheLoads, []string{"Append/ReadersSeeItAtOnce", "Load/OneConsistentPoint"}},
		{"shares what it loads", shareLoads, []string{"Aliasing/WhatComesOutIsCopied"}},
		{"keeps the values it is given", keepInput, []string{"Aliasing/WhatGoesInIsCopied"}},
		{"forgets the open run", onHead(func(h *selvage.Head) { h.OpenRun, h.Thread.OpenRunID = nil, "" }), []string{"Runs/HeadShowsTheRun", "Load/OneConsistentPoint"}},
		{"forgets the open calls", onHead(func(h *selvage.Head) { h.OpenCalls = nil }), []string{"Calls/OpenCallsAreShown", "Calls/OneCommitABatch", "Calls/CallsCountPerThread"}},
		{"never updates the time", onHead(func(h *selvage.Head) { h.Thread.UpdatedAt = h.Thread.UpdatedAt.Add(-time.Hour) }), []string{"Load/TimesOfAThread", "Append/CreatesAtVersionOne"}},
		{"forgets the title", onHead(func(h *selvage.Head) { h.Thread.Title = "" }), []string{"Threads/UpdateIsMerged", "Threads/ListShowsTheThread"}},
		{"forgets the spec of a run", onRuns(func(r *selvage.Run) { r.Spec = nil }), []string{"Runs/EverythingOfARunIsKept"}},
		{"forgets when a run started", onRuns(func(r *selvage.Run) { r.StartedAt = time.Time{} }), []string{"Runs/TimesOfARun"}},
		{"finds threads that are not there", func(f *faulty) {
			f.load = func(ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error) {
				h, err := f.sound.Load(ctx, id, opts)
				if errors.Is(err, selvage.ErrNotFound) {
					return selvage.Head{Thread: selvage.Thread{ID: id}}, nil
				}
				return h, err
			}
		}, []string{"Load/UnknownThreadIsNotFound", "Delete/NothingIsLeftToRead", "Delete/ManyChildren"}},
	}
}

func onHead(change func(*selvage.Head)) func(*faulty) {
	return func(f *faulty) {
		f.load = func(ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error) {
			h, err := f.sound.Load(ctx, id, opts)
			change(&h)
			return h, err
		}
	}
}

func onChange(change func(*selvage.Change)) func(*faulty) {
	return func(f *faulty) {
		f.changes = func(ctx context.Context, id selvage.ThreadID, q selvage.ChangeQuery) (selvage.ChangePage, error) {
			page, err := f.sound.Changes(ctx, id, q)
			for i := range page.Items {
				change(&page.Items[i])
			}
			return page, err
		}
	}
}

func onRuns(change func(*selvage.Run)) func(*faulty) {
	return func(f *faulty) {
		f.runs = func(ctx context.Context, q selvage.RunQuery) (selvage.RunPage, error) {
			page, err := f.sound.Runs(ctx, q)
			for i := range page.Items {
				change(&page.Items[i])
			}
			return page, err
		}
	}
}

// decoded is what becomes of JSON that is read into Go values and written again.
func decoded(raw []byte) []byte {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return raw // a number that no float holds
	}
	out, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return out
}

func floats(f *faulty) {
	onHead(func(h *selvage.Head) {
		if doc, err := state.Parse(decoded(h.State.AppendJSON(nil))); err == nil {
			h.State = doc
		}
		var v map[string]any
		if json.Unmarshal(h.State.AppendJSON(nil), &v) == nil {
			return
		}
		// One number too many for a float: read the others one by one.
		doc := h.State
		for key, member := range doc.Root().Members() {
			if value, err := state.ParseValue(decoded(member.AppendJSON(nil))); err == nil {
				doc, _ = state.Patch{state.Set(state.At(key), value)}.Apply(doc) // a sound op
			}
		}
		h.State = doc
	})(f)
}

func cleanText(f *faulty) {
	onHead(func(h *selvage.Head) {
		text := strings.ReplaceAll(h.State.String(), `\u0000`, `\u0001`)
		if doc, err := state.Parse([]byte(text)); err == nil {
			h.State = doc
		}
	})(f)
}

func reversePatches(next appendFunc) appendFunc {
	return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		if n := len(set.Patches); n > 1 {
			reversed := make([]selvage.StatePatch, 0, n)
			for i := range n {
				reversed = append(reversed, set.Patches[n-1-i])
			}
			set.Patches = reversed
		}
		return next(ctx, id, set, pre)
	}
}

// forgetful answers the empty document at versions without a patch.
func forgetful(f *faulty) {
	f.state = func(ctx context.Context, id selvage.ThreadID, v selvage.Version) (state.Document, error) {
		doc, err := f.sound.State(ctx, id, v)
		page, logErr := f.sound.Changes(ctx, id, selvage.ChangeQuery{After: v - 1, Limit: ptr(1)})
		if logErr == nil && v > 0 && len(page.Items) == 1 && !strings.Contains(string(page.Items[0].Rest), "patches") {
			return state.Document{}, err
		}
		return doc, err
	}
}

func decodeMetadata(f *faulty) {
	f.messages = func(ctx context.Context, id selvage.ThreadID, q selvage.MessageQuery) (selvage.MessagePage, error) {
		page, err := f.sound.Messages(ctx, id, q)
		for i := range page.Items {
			for key, raw := range page.Items[i].Metadata {
				page.Items[i].Metadata[key] = decoded(raw)
			}
		}
		return page, err
	}
}

func decodeThread(f *faulty) {
	onHead(func(h *selvage.Head) {
		for key, raw := range h.Thread.Metadata {
			h.Thread.Metadata[key] = decoded(raw)
		}
	})(f)
}

func escapeLog(f *faulty) {
	onChange(func(c *selvage.Change) {
		for i, raw := range c.Messages {
			c.Messages[i], _ = json.Marshal(raw) // it was JSON before
		}
		c.Rest, _ = json.Marshal(c.Rest)
	})(f)
}

// torn reads the head first and the rest later.
func torn(f *faulty) {
	f.load = func(ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error) {
		first, err := f.sound.Load(ctx, id, opts)
		for range 1000 {
			runtime.Gosched()
			later, laterErr := f.sound.Load(ctx, id, opts)
			if laterErr == nil && later.Thread.Version != first.Thread.Version {
				first.State = later.State
				break
			}
		}
		return first, err
	}
}

func cacheLoads(f *faulty) {
	var mu sync.Mutex
	cache := make(map[selvage.ThreadID]selvage.Head)
	f.load = func(ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error) {
		mu.Lock()
		defer mu.Unlock()
		if h, cached := cache[id]; cached {
			return h, nil
		}
		h, err := f.sound.Load(ctx, id, opts)
		if err == nil {
			h.OpenRun = nil
			cache[id] = h
		}
		return h, err
	}
}

// shareLoads answers the same slices and maps as long as the version stays.
func shareLoads(f *faulty) {
	type key struct {
		id selvage.ThreadID
		v  selvage.Version
	}
	cache := make(map[key]selvage.Head)
	f.load = func(ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error) {
		h, err := f.sound.Load(ctx, id, opts)
		k := key{id, h.Thread.Version}
		if kept, cached := cache[k]; cached && err == nil {
			return kept, nil
		}
		cache[k] = h
		return h, err
	}
}

// keepInput shows the messages of the set it was given, as they are now.
func keepInput(f *faulty) {
	var kept []selvage.Message
	f.append = func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		kept = set.Messages
		return f.sound.Append(ctx, id, set, pre)
	}
	onHead(func(h *selvage.Head) {
		for i := range h.Messages {
			if i < len(kept) {
				h.Messages[i].Content = kept[i].Content
			}
		}
	})(f)
}
