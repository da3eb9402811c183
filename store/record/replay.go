package record

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/selvagehq/selvage"
)

// The spaces of the replay log: rows by stream and seq, streams, and the ids on
// the wire by protocol and version.
const (
	replaySpace  = "replay"
	headSpace    = "replay.stream"
	wireSpace    = "replay.wire"
	maxSources   = 64
	maxReplaySet = selvage.MaxSetBytes // bytes of the payloads of one append
)

// replay is the [selvage.Replay] of a keeper. The writes of one stream go one
// after the other; that wire ids are unique is left to the table's key.
//
// No row expires before the one before it, so the rows that can be seen are the
// end of their stream, without gaps.
type replay struct{ k *Keeper }

// replayRow is a row as it is kept; its payload is the body.
type replayRow struct {
	WireID    string     `json:"wire_id"`
	Type      string     `json:"type,omitempty"`
	Projector string     `json:"projector,omitempty"`
	Sources   []string   `json:"sources,omitempty"`
	Expires   *time.Time `json:"expires,omitempty"`
	Redacted  bool       `json:"redacted,omitempty"`
	Created   time.Time  `json:"created"`
}

// streamHead is what is known of a stream: its last row. It expires with that.
type streamHead struct {
	Last    int64      `json:"last"`
	Expires *time.Time `json:"expires,omitempty"`
}

// wireRow says where a row is that has an id on the wire.
type wireRow struct {
	Thread selvage.ThreadID `json:"thread,omitempty"`
	Stream string           `json:"stream"`
	Seq    int64            `json:"seq"`
}

func (r *replayRow) row(seq int64, payload []byte) selvage.ReplayRow {
	if payload == nil {
		payload = []byte{} // as it is read back
	}
	return selvage.ReplayRow{
		ReplayDraft: selvage.ReplayDraft{WireID: r.WireID, Type: r.Type, Payload: payload, Projector: r.Projector, Sources: r.Sources, ExpiresAt: r.Expires},
		Seq:         seq, Redacted: r.Redacted, CreatedAt: r.Created,
	}
}

// replayStream is a stream with its keys.
type replayStream struct {
	selvage.ReplayStream
	key []byte
}

func newReplayStream(s selvage.ReplayStream) (replayStream, error) {
	if s.ThreadID != "" {
		if err := checkName("thread_id", string(s.ThreadID)); err != nil {
			return replayStream{}, err
		}
	}
	for _, f := range []struct{ field, name string }{{"id", s.ID}, {"protocol", s.Protocol}, {"version", s.Version}} {
		if err := checkName(f.field, f.name); err != nil {
			return replayStream{}, err
		}
	}
	return replayStream{s, keyOf(string(s.ThreadID), s.ID, s.Protocol, s.Version)}, nil
}

func (s *replayStream) topic() string {
	return replaySpace + "/" + string(bytes.ReplaceAll(s.key, []byte{0}, []byte{'/'}))
}

func (s *replayStream) wireKey(wireID string) []byte { return keyOf(s.Protocol, s.Version, wireID) }

// find returns the seq of the row that has an id on the wire, 0 if the stream
// has none. Elsewhere tells that another stream has it.
func (s *replayStream) find(tx Tx, wireID string) (seq int64, elsewhere bool, err error) {
	var at wireRow
	_, exists, err := load(tx, wireSpace, s.wireKey(wireID), &at)
	if err != nil || !exists {
		return 0, false, err
	}
	if at.Thread != s.ThreadID || at.Stream != s.ID {
		return 0, true, nil
	}
	return at.Seq, false, nil
}

// read returns a row, which must be there.
func (s *replayStream) read(tx Tx, seq int64) (row replayRow, payload []byte, err error) {
	payload, exists, err := load(tx, replaySpace, number(s.key, seq), &row)
	if err == nil && !exists {
		err = s.hole(seq)
	}
	return row, payload, err
}

// write writes a row.
func (s *replayStream) write(tx Tx, seq int64, row *replayRow, payload []byte) error {
	return save(tx, replaySpace, Row{Key: number(s.key, seq), Value: payload, Thread: s.ThreadID, Expires: expires(row.Expires)}, row)
}

// Append implements [selvage.Replay].
func (r replay) Append(ctx context.Context, name selvage.ReplayStream, drafts []selvage.ReplayDraft) (out []selvage.ReplayRow, err error) {
	s, err := newReplayStream(name)
	if err == nil {
		err = checkReplay(drafts)
	}
	if err == nil {
		err = r.k.update(ctx, s.topic(), func(tx Tx, _ bool) (err error) {
			out, err = s.append(tx, drafts)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("append to the replay stream %q: %w", name.ID, err)
	}
	return out, nil
}

func (s *replayStream) append(tx Tx, drafts []selvage.ReplayDraft) ([]selvage.ReplayRow, error) {
	var head streamHead
	if _, _, err := load(tx, headSpace, s.key, &head); err != nil {
		return nil, err
	}
	before, out := head.Last, []selvage.ReplayRow{}
	for i := range drafts {
		row, err := s.appendOne(tx, &head, &drafts[i])
		if err != nil {
			return nil, fmt.Errorf("row %d, %q: %w", i, drafts[i].WireID, err)
		}
		out = append(out, row)
	}
	if head.Last == before {
		return out, nil
	}
	return out, save(tx, headSpace, Row{Key: s.key, Thread: s.ThreadID, Expires: expires(head.Expires)}, &head)
}

// appendOne adds a row to the end of the stream, unless it is there.
func (s *replayStream) appendOne(tx Tx, head *streamHead, d *selvage.ReplayDraft) (out selvage.ReplayRow, err error) {
	seq, elsewhere, err := s.find(tx, d.WireID)
	if err != nil {
		return out, err
	}
	if seq != 0 || elsewhere {
		return s.repeat(tx, seq, elsewhere, d)
	}
	until, err := checkExpiry(d.ExpiresAt, tx.Now())
	if err != nil {
		return out, err
	}
	if head.Last > 0 {
		until = later(head.Expires, until)
	}
	head.Last, head.Expires = head.Last+1, until
	fresh, err := insert(tx, wireSpace, Row{Key: s.wireKey(d.WireID), Thread: s.ThreadID, Expires: expires(until)},
		&wireRow{s.ThreadID, s.ID, head.Last})
	if err != nil {
		return out, err
	}
	if !fresh { // another stream has taken it at this moment
		return s.repeat(tx, 0, true, d)
	}
	row := replayRow{WireID: d.WireID, Type: d.Type, Projector: d.Projector, Sources: d.Sources, Expires: until, Created: tx.Now()}
	return row.row(head.Last, bytes.Clone(d.Payload)), s.write(tx, head.Last, &row, d.Payload)
}

// repeat answers a row whose wire id is taken.
func (s *replayStream) repeat(tx Tx, seq int64, elsewhere bool, d *selvage.ReplayDraft) (out selvage.ReplayRow, err error) {
	if elsewhere {
		return out, fmt.Errorf("another stream has a row of this id: %w", selvage.ErrAlreadyExists)
	}
	row, payload, err := s.read(tx, seq)
	switch {
	case err != nil:
		return out, err
	case !row.Redacted && (row.Type != d.Type || !bytes.Equal(payload, d.Payload)):
		return out, fmt.Errorf("row %d of the stream has this id and other content: %w", seq, selvage.ErrAlreadyExists)
	}
	return row.row(seq, payload), nil
}

func checkReplay(drafts []selvage.ReplayDraft) error {
	if len(drafts) > selvage.MaxReplayRows {
		return fmt.Errorf("%d rows are more than the %d of one append: %w", len(drafts), selvage.MaxReplayRows, selvage.ErrTooLarge)
	}
	total := 0
	for i := range drafts {
		d, field := &drafts[i], fmt.Sprintf("rows[%d]", i)
		if total += len(d.Payload); len(d.Payload) > selvage.MaxReplayBytes {
			return tooLarge(field+".payload", len(d.Payload), selvage.MaxReplayBytes)
		}
		if d.WireID == "" {
			return invalid(field+".wire_id", "a row needs the id it has on the wire")
		}
		if len(d.Sources) > maxSources {
			return invalid(field+".sources", "there may be at most %d, and there are %d", maxSources, len(d.Sources))
		}
		for _, text := range append([]string{d.WireID, d.Type, d.Projector}, d.Sources...) {
			if err := checkLine(field, text); err != nil {
				return err
			}
		}
	}
	if total > maxReplaySet {
		return tooLarge("the append", total, maxReplaySet)
	}
	return nil
}
