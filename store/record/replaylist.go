package record

import (
	"context"
	"fmt"

	"github.com/selvagehq/selvage"
)

// List implements [selvage.Replay].
func (r replay) List(ctx context.Context, name selvage.ReplayStream, q selvage.ReplayQuery) (page selvage.ReplayPage, err error) {
	s, err := newReplayStream(name)
	limit := 0
	if err == nil {
		limit, err = selvage.PageLimit(q.Limit)
	}
	if err == nil {
		err = r.k.engine.View(ctx, func(tx Tx) (err error) {
			page, err = s.list(tx, q.After, limit)
			return err
		})
	}
	if err != nil {
		return selvage.ReplayPage{}, fmt.Errorf("list the replay stream %q: %w", name.ID, err)
	}
	return page, nil
}

func (s *replayStream) list(tx Tx, wireID string, limit int) (page selvage.ReplayPage, err error) {
	page.Items = []selvage.ReplayRow{}
	var head streamHead
	if _, _, err := load(tx, headSpace, s.key, &head); err != nil {
		return page, err
	}
	after := int64(0)
	if wireID != "" {
		if after, err = s.resume(tx, wireID); err != nil {
			return page, err
		}
	}
	if limit == 0 {
		return page, nil
	}
	last := after
	l := list[selvage.ReplayRow]{replaySpace, below(s.key), func(r Row) (out selvage.ReplayRow, wanted bool, err error) {
		var row replayRow
		payload, err := decode(replaySpace, r.Value, &row)
		seq := lastNumber(r.Key)
		// Before the first row that is left others may have expired.
		if err == nil && last != 0 && seq != last+1 {
			err = s.hole(last + 1)
		}
		last = seq
		return row.row(seq, payload), true, err
	}}
	if after > 0 {
		l.in.From = number(s.key, after+1)
	}
	items, more, err := l.read(tx, limit)
	if err != nil {
		return page, err
	}
	page.Items = items
	switch {
	case more != nil:
		page.Next = items[len(items)-1].WireID
	case last != head.Last:
		return page, s.hole(last + 1)
	}
	return page, nil
}

// resume is where a reader stands that has seen a wire id.
func (s *replayStream) resume(tx Tx, wireID string) (int64, error) {
	if err := checkLine("after", wireID); err != nil {
		return 0, err
	}
	seq, _, err := s.find(tx, wireID)
	if err == nil && seq == 0 {
		err = fmt.Errorf("the stream has no row %q, or no longer; begin again without it: %w", wireID, selvage.ErrCursorExpired)
	}
	return seq, err
}

func (s *replayStream) hole(seq int64) error {
	return fmt.Errorf("row %d of the stream is missing: %w", seq, selvage.ErrCorrupt)
}

// Redact implements [selvage.Replay].
func (r replay) Redact(ctx context.Context, name selvage.ReplayStream, wireID string) error {
	s, err := newReplayStream(name)
	if err == nil {
		err = checkLine("wire_id", wireID)
	}
	if err == nil {
		err = r.k.update(ctx, s.topic(), func(tx Tx, _ bool) error { return s.redact(tx, wireID) })
	}
	if err != nil {
		return fmt.Errorf("redact row %q of the replay stream %q: %w", wireID, name.ID, err)
	}
	return nil
}

func (s *replayStream) redact(tx Tx, wireID string) error {
	seq, _, err := s.find(tx, wireID)
	if err != nil {
		return err
	}
	if seq == 0 {
		return fmt.Errorf("the stream has no such row: %w", selvage.ErrNotFound)
	}
	row, _, err := s.read(tx, seq)
	if err != nil || row.Redacted {
		return err
	}
	row.Redacted = true
	return s.write(tx, seq, &row, nil)
}
