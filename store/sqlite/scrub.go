package sqlite

import (
	"context"
	"encoding/binary"
	"fmt"
)

// The writer has SQLite overwrite what it frees. But when rows are moved from
// page to page, copies stay in the unused parts of the pages they came from. A
// scrub overwrites those. It only touches bytes that mean nothing.

// scrubAtOnce is how many pages one transaction looks through, so that writers
// wait for a moment only.
const scrubAtOnce = 2048

// maxScrub bounds the pages of a file that is scrubbed (128 GiB). Pages that
// are not of a b-tree begin with the number of another page, which below this
// bound cannot be taken for a kind of page.
const maxScrub = 0x02 << 24

const (
	readPage  = `SELECT data FROM sqlite_dbpage WHERE pgno = ?`
	writePage = `UPDATE sqlite_dbpage SET data = ? WHERE pgno = ?`
)

// scrub overwrites what is unused in the pages of tables and indexes.
func (s *Store) scrub(ctx context.Context) error {
	for first, last := int64(2), int64(2); first <= last; first += scrubAtOnce {
		err := s.writer.alone(ctx, s.tenant, func(t *txn) error {
			if _, err := t.c.one(func(r *rows) { last = r.int(0) }, "PRAGMA page_count"); err != nil {
				return err
			}
			if last >= maxScrub {
				return fmt.Errorf("the file has %d pages, too many to tell what they are", last)
			}
			for n := first; n <= min(last, first+scrubAtOnce-1); n++ {
				if err := t.scrubPage(n); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// scrubPage clears a page and writes it if there was anything to clear.
func (t *txn) scrubPage(n int64) error {
	var page []byte
	found, err := t.c.one(func(r *rows) { page = r.blob(0) }, readPage, n)
	if err != nil || !found || !clearPage(page) {
		return err
	}
	_, err = t.exec(writePage, page, n)
	return err
}

// clearPage clears what is unused in a page of a b-tree: the room between the
// list of cells and the cells, and the gaps among these. It reports whether
// there was anything, and leaves other pages and those it cannot read alone.
func clearPage(page []byte) (dirty bool) {
	if len(page) < 12 {
		return false
	}
	header := 8
	switch page[0] { // the kind of page
	case 0x02, 0x05:
		header = 12 // inner ones have one more link
	case 0x0a, 0x0d:
	default:
		return false
	}
	u16 := func(at int) int { return int(binary.BigEndian.Uint16(page[at:])) }
	free := header + 2*u16(3) // the end of the list of cells
	content := u16(5)         // where the cells begin; 0 stands for 65536
	if content == 0 {
		content = 1 << 16
	}
	if free > content || content > len(page) {
		return false
	}
	dirty = zero(page[free:content])
	for at := u16(1); at >= content && at+4 <= len(page); {
		next, size := u16(at), u16(at+2)
		if size < 4 || at+size > len(page) {
			break
		}
		if zero(page[at+4 : at+size]) {
			dirty = true
		}
		if next <= at {
			break // the last one, or a circle
		}
		at = next
	}
	return dirty
}

// zero overwrites bytes and reports whether one of them was something else.
func zero(b []byte) (dirty bool) {
	for i := range b {
		if b[i] != 0 {
			dirty, b[i] = true, 0
		}
	}
	return dirty
}
