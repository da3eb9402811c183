package record_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/selvagehq/selvage"
)

// memoryModel is what a memory ought to hold.
type memoryModel struct {
	entries map[selvage.MemoryName]modelEntry
	writes  map[selvage.MemoryOwner]selvage.Version
}

type modelEntry struct {
	value   string
	version selvage.Version
	expires time.Time // zero: never
}

// TestMemoryModel does random things to a memory and to a model of it.
func TestMemoryModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		e := newToy()
		m := offer[selvage.Memory](t, e)
		model := &memoryModel{make(map[selvage.MemoryName]modelEntry), make(map[selvage.MemoryOwner]selvage.Version)}
		owners := []selvage.MemoryOwner{"user:a", "user:ab", "agent:a"}
		name := func() selvage.MemoryName {
			return selvage.MemoryName{Owner: rapid.SampledFrom(owners).Draw(rt, "owner"),
				Namespace: rapid.SampledFrom([]string{"n", "nn"}).Draw(rt, "namespace"), Key: rapid.SampledFrom([]string{"a", "ab", "b"}).Draw(rt, "key")}
		}
		pre := func(n selvage.MemoryName) selvage.Precondition {
			switch rapid.IntRange(0, 3).Draw(rt, "precondition") {
			case 0:
				return selvage.New()
			case 1:
				return selvage.Exact(max(1, model.entries[n].version))
			case 2:
				return selvage.Exact(selvage.Version(rapid.IntRange(1, 9).Draw(rt, "version")))
			default:
				return selvage.Any()
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"put": func(rt *rapid.T) {
				n, value := name(), fmt.Sprint(rapid.IntRange(0, 9).Draw(rt, "value"))
				d, p := selvage.MemoryDraft{MemoryName: n, Value: json.RawMessage(value)}, pre(n)
				if rapid.Bool().Draw(rt, "expires") {
					until := e.now.Add(time.Duration(rapid.IntRange(1, 5).Draw(rt, "after")) * time.Second)
					d.ExpiresAt = &until
				}
				want := model.judge(n, p)
				if want == "" {
					model.writes[n.Owner]++
					entry := modelEntry{value: value, version: model.writes[n.Owner]}
					if d.ExpiresAt != nil {
						entry.expires = *d.ExpiresAt
					}
					model.entries[n] = entry
				}
				got, err := m.Put(t.Context(), d, p)
				if selvage.Code(err) != want || err == nil && got.Version != model.entries[n].version {
					rt.Fatalf("put under %s: version %d, %v; want %q and version %d", p, got.Version, err, want, model.entries[n].version)
				}
			},
			"delete": func(rt *rapid.T) {
				n := name()
				p := pre(n)
				want := model.judge(n, p)
				if p.IsNew() {
					want = "invalid"
				}
				if err := m.Delete(t.Context(), n, p); selvage.Code(err) != want {
					rt.Fatalf("delete under %s: %v; want %q", p, err, want)
				}
				if want == "" {
					delete(model.entries, n)
				}
			},
			"clear": func(rt *rapid.T) {
				owner, want := rapid.SampledFrom(owners).Draw(rt, "owner"), 0
				for n := range model.entries {
					if n.Owner == owner {
						delete(model.entries, n)
						want++
					}
				}
				delete(model.writes, owner)
				if n, err := m.Clear(t.Context(), owner); err != nil || n != want {
					rt.Fatalf("clear removed %d, %v; want %d", n, err, want)
				}
			},
			"wait": func(rt *rapid.T) {
				e.now = e.now.Add(time.Second)
				for n, entry := range model.entries {
					if !entry.expires.IsZero() && !entry.expires.After(e.now) {
						delete(model.entries, n)
					}
				}
			},
			"sweep": func(rt *rapid.T) {
				if _, err := offer[selvage.Sweeper](t, e).Sweep(t.Context(), rapid.IntRange(1, 3).Draw(rt, "limit")); err != nil {
					rt.Fatal(err)
				}
			},
			"": func(rt *rapid.T) { model.check(t, rt, m, owners) },
		})
	})
}

// judge predicts what becomes of a write.
func (m *memoryModel) judge(n selvage.MemoryName, p selvage.Precondition) string {
	have := m.entries[n].version
	switch v, exact := p.Version(); {
	case p.IsNew() && have != 0:
		return "already_exists"
	case exact && v != have:
		return "conflict"
	}
	return ""
}

// check reads everything and compares.
func (m *memoryModel) check(t *testing.T, rt *rapid.T, memory selvage.Memory, owners []selvage.MemoryOwner) {
	limit := rapid.IntRange(1, 3).Draw(rt, "page")
	for _, owner := range owners {
		var want, got []string
		for n, e := range m.entries {
			if n.Owner == owner {
				want = append(want, fmt.Sprintf("%s\x00%s\x00=%s@%d", n.Namespace, n.Key, e.value, e.version))
			}
		}
		slices.Sort(want)
		q := selvage.MemoryQuery{Owner: owner, Limit: &limit}
		for {
			page, err := memory.List(t.Context(), q)
			if err != nil {
				rt.Fatal(err)
			}
			for _, e := range page.Items {
				got = append(got, fmt.Sprintf("%s\x00%s\x00=%s@%d", e.Namespace, e.Key, e.Value, e.Version))
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("%s holds %q; want %q", owner, got, want)
		}
	}
}
