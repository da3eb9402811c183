package postgres

import (
	"container/list"
	"sync"

	"github.com/selvagehq/selvage"
)

// headCache remembers heads, the least recently used of which are forgotten
// first. What it says may be out of date.
type headCache struct {
	limit int // bytes; negative keeps nothing

	mu     sync.Mutex // guards everything below
	used   int
	recent *list.List // of *headEntry, the latest first
	byID   map[threadKey]*list.Element
}

// threadKey names a thread of any tenant.
type threadKey struct {
	tenant string
	id     selvage.ThreadID
}

type headEntry struct {
	key  threadKey
	head *head
	size int
}

func newHeadCache(limit int) *headCache {
	return &headCache{limit: limit, recent: list.New(), byID: make(map[threadKey]*list.Element)}
}

// get returns what is remembered of a thread, or nil.
func (c *headCache) get(k threadKey) *head {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byID[k]
	if e == nil {
		return nil
	}
	c.recent.MoveToFront(e)
	return e.Value.(*headEntry).head
}

// put remembers a head, unless a later one is remembered.
func (c *headCache) put(k threadKey, h *head) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byID[k]; e != nil {
		old := e.Value.(*headEntry).head
		if old.Thread.Version > h.Thread.Version || old.Epoch > h.Epoch {
			return
		}
		if h.doc == nil && old.doc != nil && old.Hash == h.Hash {
			return
		}
		c.remove(e)
	}
	size := h.size()
	if size > c.limit/4 {
		return
	}
	c.byID[k] = c.recent.PushFront(&headEntry{k, h, size})
	for c.used += size; c.used > c.limit; {
		c.remove(c.recent.Back())
	}
}

// drop forgets a thread.
func (c *headCache) drop(k threadKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byID[k]; e != nil {
		c.remove(e)
	}
}

func (c *headCache) remove(e *list.Element) {
	entry := c.recent.Remove(e).(*headEntry)
	delete(c.byID, entry.key)
	c.used -= entry.size
}
