package builtin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/tool"
)

// MemoryNamespace is the namespace that remember writes to. An entry there is
// an object with a member "text", and "thread_id" which names where it was said.
const MemoryNamespace = "semantic"

// Bounds of what is remembered and told.
const (
	maxRemembered = 8 << 10  // bytes of one text
	maxFound      = 50       // entries told at once
	maxToldBytes  = 64 << 10 // of all entries told at once
	maxPages      = 20       // read for one search
)

// memoryOf returns the memory of whom a call is made for: the thread's user,
// else the thread itself.
func memoryOf(m selvage.Memory, c *tool.Call) (selvage.Memory, selvage.MemoryOwner, error) {
	switch {
	case m == nil:
		return nil, "", errors.New("there is no memory here: nothing is kept beyond this conversation")
	case c.UserID != "":
		return m, selvage.UserMemory(c.UserID), nil
	case c.ThreadID != "":
		return m, selvage.ThreadMemory(c.ThreadID), nil
	}
	return nil, "", errors.New("there is nobody to remember it for: the call has neither a user nor a thread")
}

type rememberIn struct {
	Text string `json:"text" jsonschema:"the fact to remember, in a sentence that can be understood alone"`
	Key  string `json:"key,omitempty" jsonschema:"short name of the fact, such as favourite-colour; the same key replaces what was remembered under it"`
}

// fact is what an entry of [MemoryNamespace] holds.
type fact struct {
	Text     string           `json:"text"`
	ThreadID selvage.ThreadID `json:"thread_id,omitempty"`
}

// remember keeps a fact about the user beyond the conversation. The same text
// is kept once.
func remember(m selvage.Memory) tool.Tool {
	return tool.New("remember", "Remembers a fact about the user, for this and later conversations.",
		func(ctx context.Context, c *tool.Call, in rememberIn) (string, error) {
			memory, owner, err := memoryOf(m, c)
			if err != nil {
				return "", err
			}
			text := strings.TrimSpace(in.Text)
			switch {
			case text == "":
				return "", errors.New("there is nothing in text to remember")
			case len(text) > maxRemembered:
				return "", fmt.Errorf("text has %d bytes, and at most %d are remembered at once; keep to the fact", len(text), maxRemembered)
			}
			key := in.Key
			if key == "" {
				sum := sha256.Sum256([]byte(text))
				key = hex.EncodeToString(sum[:8])
			}
			if err := selvage.CheckID("key", key); err != nil {
				return "", err
			}
			value, err := json.Marshal(fact{Text: text, ThreadID: c.ThreadID})
			if err != nil {
				return "", err
			}
			name := selvage.MemoryName{Owner: owner, Namespace: MemoryNamespace, Key: key}
			if _, err := memory.Put(ctx, selvage.MemoryDraft{MemoryName: name, Value: value}, selvage.Any()); err != nil {
				return "", err
			}
			return fmt.Sprintf("Remembered as %s.", key), nil
		}, tool.Options{Effect: selvage.EffectIdempotent})
}

type forgetIn struct {
	Key string `json:"key" jsonschema:"the key of the fact, as search_memory tells it"`
}

// forget deletes a fact.
func forget(m selvage.Memory) tool.Tool {
	return tool.New("forget", "Forgets a fact that was remembered about the user.",
		func(ctx context.Context, c *tool.Call, in forgetIn) (string, error) {
			memory, owner, err := memoryOf(m, c)
			if err != nil {
				return "", err
			}
			name := selvage.MemoryName{Owner: owner, Namespace: MemoryNamespace, Key: in.Key}
			_, err = memory.Get(ctx, name)
			switch {
			case errors.Is(err, selvage.ErrNotFound):
				return fmt.Sprintf("Nothing is remembered as %s.", in.Key), nil
			case err != nil:
				return "", err
			}
			if err := memory.Delete(ctx, name, selvage.Any()); err != nil {
				return "", err
			}
			return fmt.Sprintf("Forgot %s.", in.Key), nil
		}, tool.Options{Effect: selvage.EffectIdempotent})
}

type searchIn struct {
	Query string `json:"query,omitempty" jsonschema:"words to look for; without it everything that is remembered is listed"`
}

// found is one entry as the model is told it.
type found struct {
	Namespace string          `json:"namespace,omitempty"` // if not that of remember
	Key       string          `json:"key"`
	Text      string          `json:"text,omitempty"`
	Value     json.RawMessage `json:"value,omitempty"` // of an entry that is not a fact
	score     int
}

// searchMemory looks for what is remembered about the user.
func searchMemory(m selvage.Memory) tool.Tool {
	return tool.New("search_memory", "Looks for what is remembered about the user.",
		func(ctx context.Context, c *tool.Call, in searchIn) (string, error) {
			memory, owner, err := memoryOf(m, c)
			if err != nil {
				return "", err
			}
			all, more, err := search(ctx, memory, owner, wordsOf(in.Query))
			if err != nil {
				return "", err
			}
			return tellFound(all, more), nil
		}, tool.Options{Effect: selvage.EffectNone})
}

// wordsOf splits a query: an entry that has more of the words is told before
// one that has fewer.
func wordsOf(query string) []string {
	words := strings.FieldsFunc(strings.ToLower(query), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	slices.Sort(words)
	words = slices.Compact(words)
	return words[:min(len(words), 8)]
}

// search reads the entries of an owner that hold any of the words, all of them
// if there is none. More reports that not everything was read.
func search(ctx context.Context, memory selvage.Memory, owner selvage.MemoryOwner, words []string) (all []found, more bool, err error) {
	limit := 200
	q := selvage.MemoryQuery{Owner: owner, Limit: &limit}
	for range maxPages {
		page, err := memory.List(ctx, q)
		if err != nil {
			return nil, false, err
		}
		for i := range page.Items {
			if f, ok := match(&page.Items[i], words); ok {
				all = append(all, f)
			}
		}
		q.Cursor, more = page.Next, page.Next != ""
		if !more {
			break
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return b.score - a.score })
	return all, more, nil
}

// match reads an entry and counts the words it has.
func match(e *selvage.MemoryEntry, words []string) (found, bool) {
	f := found{Key: e.Key}
	if e.Namespace != MemoryNamespace {
		f.Namespace = e.Namespace
	}
	var kept fact
	if json.Unmarshal(e.Value, &kept) == nil && kept.Text != "" {
		f.Text = kept.Text
	} else {
		f.Value = e.Value
	}
	content := strings.ToLower(f.Namespace + " " + f.Key + " " + f.Text + " " + string(f.Value))
	for _, w := range words {
		if strings.Contains(content, w) {
			f.score++
		}
	}
	return f, len(words) == 0 || f.score > 0
}

// tellFound writes one line an entry, as many as there is room for.
func tellFound(all []found, more bool) string {
	if len(all) == 0 {
		return "Nothing is remembered about that."
	}
	var b strings.Builder
	for i, f := range all {
		line := lineOf(f)
		if i == maxFound || b.Len()+len(line) > maxToldBytes {
			more = true
			break
		}
		b.WriteString(line)
	}
	if more {
		b.WriteString("(There is more; ask for other words.)")
	}
	return strings.TrimSpace(b.String())
}

// lineOf writes an entry as a line of JSON.
func lineOf(f found) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(f); err != nil {
		return "" // a value that is not JSON is in no store
	}
	return b.String()
}
