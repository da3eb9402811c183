package transfer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/selvagehq/selvage"
)

// LogFormat is the version of the lines that [WriteLog] writes.
const LogFormat = 1

// Header is the first line of a log: what it is, and where it ends.
type Header struct {
	Selvage string           `json:"selvage"` // "thread"
	Format  int              `json:"format"`
	ID      selvage.ThreadID `json:"id"`
	Tenant  string           `json:"tenant,omitempty"`
	Title   string           `json:"title,omitempty"`
	Version selvage.Version  `json:"version"` // of the last change
	Hash    selvage.Hash     `json:"hash"`    // of the last change
}

const kindThread = "thread"

// maxLine bounds a line, in bytes: a change set and what stands around it.
const maxLine = 2*selvage.MaxSetBytes + 1<<20

// WriteLog writes the log of a thread as it is now to w: a [Header], and each
// change on a line of its own. What is appended meanwhile is left out. Errors
// of w are returned as they are.
func WriteLog(ctx context.Context, from selvage.Store, id selvage.ThreadID, w io.Writer) (Header, error) {
	none := 0
	head, err := from.Load(ctx, id, selvage.LoadOptions{Messages: &none})
	if err != nil {
		return Header{}, err
	}
	t := &head.Thread
	h := Header{Selvage: kindThread, Format: LogFormat, ID: t.ID, Tenant: t.Tenant, Title: t.Title, Version: t.Version, Hash: head.Hash}
	out := bufio.NewWriter(w)
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	if err := e.Encode(&h); err != nil {
		return h, err
	}
	for c, err := range Changes(ctx, from, id, 0, t.Version) {
		if err != nil {
			return h, err
		}
		if err := e.Encode(&c); err != nil {
			return h, err
		}
	}
	return h, out.Flush()
}

// Changes goes through the changes of a thread after one version up to
// another.
func Changes(ctx context.Context, from selvage.Store, id selvage.ThreadID, after, last selvage.Version) iter.Seq2[selvage.Change, error] {
	return func(yield func(selvage.Change, error) bool) {
		limit := selvage.MaxPage
		q := selvage.ChangeQuery{After: after, Before: last + 1, Limit: &limit}
		for {
			page, err := from.Changes(ctx, id, q)
			if err != nil {
				yield(selvage.Change{}, err)
				return
			}
			for i := range page.Items {
				if !yield(page.Items[i], nil) {
					return
				}
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				return
			}
		}
	}
}

// LogReader reads what [WriteLog] wrote and proves it.
type LogReader struct {
	Header Header
	lines  *bufio.Scanner
	line   int
}

// NewLogReader reads the header. The error matches [selvage.ErrInvalid] if r
// holds no log, and [selvage.ErrUnsupported] if a newer program wrote it.
func NewLogReader(r io.Reader) (*LogReader, error) {
	l := &LogReader{lines: bufio.NewScanner(r)}
	l.lines.Buffer(nil, maxLine)
	if err := l.next(&l.Header); errors.Is(err, io.EOF) {
		return nil, &selvage.InvalidError{Field: "log", Reason: "there is nothing in it"}
	} else if err != nil {
		return nil, err
	}
	switch h := &l.Header; {
	case h.Selvage != kindThread:
		return nil, &selvage.InvalidError{Field: "log", Reason: "it is not the log of a thread; its first line would say so"}
	case h.Format != LogFormat:
		return nil, fmt.Errorf("the log has format %d and this program knows %d; use a newer one: %w", h.Format, LogFormat, selvage.ErrUnsupported)
	}
	return l, nil
}

// next reads a line.
func (l *LogReader) next(into any) error {
	if !l.lines.Scan() {
		if err := l.lines.Err(); errors.Is(err, bufio.ErrTooLong) {
			return fmt.Errorf("line %d has more than %d bytes: %w", l.line+1, maxLine, selvage.ErrTooLarge)
		} else if err != nil {
			return err
		}
		return io.EOF
	}
	l.line++
	if err := json.Unmarshal(l.lines.Bytes(), into); err != nil {
		return &selvage.InvalidError{Field: "log", Reason: fmt.Sprintf("line %d: %v", l.line, err)}
	}
	return nil
}

// Changes goes through the changes, each of which follows from the one before
// it. Damage, and an end before the header's, match [selvage.ErrCorrupt].
func (l *LogReader) Changes() iter.Seq2[selvage.Change, error] {
	return func(yield func(selvage.Change, error) bool) {
		var last selvage.Change
		for n := 0; ; n++ {
			var c selvage.Change
			err := l.next(&c)
			if errors.Is(err, io.EOF) {
				if err = l.ends(&last); err != nil {
					yield(selvage.Change{}, err)
				}
				return
			}
			if err == nil {
				err = follows(&last, &c, n)
			}
			if !yield(c, err) || err != nil {
				return
			}
			last = c
		}
	}
}

// follows proves that c comes after last, the n-th change of the log. A log
// may begin with the tombstone of a former life.
func follows(last, c *selvage.Change, n int) error {
	prev := last.Hash
	switch {
	case n == 0 && c.Version > 1 && c.Reason == selvage.ReasonDeleted:
		prev = c.Prev
	case c.Version != last.Version+1:
		return &selvage.CorruptError{Thread: c.ThreadID, Version: last.Version + 1, Reason: fmt.Sprintf("it is missing, version %d follows", c.Version)}
	}
	return c.Verify(prev)
}

// ends proves that the log is complete.
func (l *LogReader) ends(last *selvage.Change) error {
	if h := &l.Header; last.Version != h.Version || last.Hash != h.Hash {
		return &selvage.CorruptError{Thread: h.ID, Version: last.Version, Reason: fmt.Sprintf("the log ends here, and was written up to version %d", h.Version)}
	}
	return nil
}

// batch is how many changes are imported at once.
const batch = 100

// ReadLog imports a log into a store, under another id if as is not "". It
// returns the version the thread has come to. What was imported before an
// error stays; the same log may be read again.
func ReadLog(ctx context.Context, l *LogReader, to selvage.Store, as selvage.ThreadID) (selvage.Version, error) {
	importer, ok := selvage.As[selvage.Importer](to)
	if !ok {
		return 0, fmt.Errorf("the store takes no logs of other stores in: %w", selvage.ErrUnsupported)
	}
	id := l.Header.ID
	if as != "" {
		id = as
	}
	return importAll(ctx, importer, id, l.Changes())
}

// importAll imports changes in batches. Before an error those that came before
// it are imported.
func importAll(ctx context.Context, to selvage.Importer, id selvage.ThreadID, changes iter.Seq2[selvage.Change, error]) (v selvage.Version, err error) {
	pending, bytes := make([]selvage.Change, 0, batch), 0
	flush := func() error {
		if len(pending) == 0 {
			return nil
		}
		var err error
		v, err = to.Import(ctx, id, pending)
		pending, bytes = pending[:0], 0
		return err
	}
	for c, err := range changes {
		if err != nil {
			return v, errors.Join(err, flush())
		}
		body := selvage.Body{Messages: c.Messages, Rest: c.Rest}
		pending, bytes = append(pending, c), bytes+body.Size()
		if len(pending) == batch || bytes > selvage.MaxSetBytes {
			if err := flush(); err != nil {
				return v, err
			}
		}
	}
	return v, flush()
}
