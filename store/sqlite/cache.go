package sqlite

import (
	"container/list"
	"sync"

	"github.com/selvagehq/selvage/state"
)

// entry is a thread's head and, if known, its state document. It is never
// modified, only replaced.
type entry struct {
	head
	doc      state.Document
	docKnown bool
	// tail is how much a reader would have to fold to arrive at the document,
	// as far as this process knows.
	tail tail
	// seen is when the head was read or written: the writer's count of times
	// that somebody else changed the file.
	seen uint64
}

// tail measures the changes of the state since the last cached document.
type tail struct {
	changes, bytes int
}

// add returns the tail with one more change.
func (t tail) add(bytes int) tail { return tail{t.changes + 1, t.bytes + bytes} }

// long reports whether the tail outweighs a cached document.
func (t tail) long() bool { return t.changes > tailChanges || t.bytes > tailBytes }

const (
	tailChanges = 32
	tailBytes   = 64 << 10
	// entryOverhead is about what an entry costs besides its document.
	entryOverhead = 1 << 10
)

// name is what the cache knows the entry by.
func (e *entry) name() threadKey { return keyOf(&e.Thread) }

func (e *entry) size() int { return entryOverhead + 2*e.doc.Size() }

// cache keeps the entries that were used last, up to a number of bytes. It is
// safe for concurrent use.
type cache struct {
	mu    sync.Mutex // guards what follows
	limit int
	bytes int
	order *list.List // of *entry, last used first
	byID  map[threadKey]*list.Element
}

func newCache(limit int) *cache {
	return &cache{limit: limit, order: list.New(), byID: make(map[threadKey]*list.Element)}
}

// get returns the entry of a thread, or nil.
func (c *cache) get(id threadKey) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byID[id]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*entry)
}

// put keeps an entry in place of the thread's former one.
func (c *cache) put(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(e.name())
	c.keep(e)
}

// offer keeps what a reader found, unless something newer is there.
func (c *cache) offer(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.byID[e.name()]; old != nil {
		known := old.Value.(*entry)
		if known.Thread.Version > e.Thread.Version || known.Hash == e.Hash && known.docKnown {
			return
		}
		if known.Hash == e.Hash {
			// The writer's head is as good, and it knows when it was read.
			e.head, e.seen = known.head, known.seen
		}
		c.drop(e.name())
	}
	c.keep(e)
}

// forget drops the entry of a thread.
func (c *cache) forget(id threadKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(id)
}

func (c *cache) drop(id threadKey) {
	if e := c.byID[id]; e != nil {
		c.bytes -= e.Value.(*entry).size()
		c.order.Remove(e)
		delete(c.byID, id)
	}
}

func (c *cache) keep(e *entry) {
	size := e.size()
	if size > c.limit {
		return
	}
	c.bytes += size
	c.byID[e.name()] = c.order.PushFront(e)
	for c.bytes > c.limit {
		c.drop(c.order.Back().Value.(*entry).name())
	}
}
