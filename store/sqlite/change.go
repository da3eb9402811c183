package sqlite

import (
	"database/sql/driver"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/selvagehq/selvage"
)

// change is a row of the log.
type change struct {
	selvage.Change // Prev is zero unless hasPrev
	pos            int64
	prev           int64 // position of the change before it; 0: none is left
	statePrev      int64 // position of the change of the state before it
	messagePrev    int64 // position of the change before it that added messages
	effect         int64
	hasPrev        bool
}

// What a change does to the state.
const (
	effectNone = iota
	effectPatch
	effectReplace // or the document after it is kept, and what came before is compacted
)

const (
	insertChange = `INSERT INTO changes (pos, thread, version, prev, state_prev, message_prev, effect, first_seq, added, at, reason,
		id, run, parent_run, dropped, salt, content, hash, prev_hash, sizes, rest, messages)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	changeColumns = `c.pos, c.version, c.prev, c.state_prev, c.effect, c.first_seq, c.added, c.at, c.reason,
		c.id, c.run, c.parent_run, c.dropped, c.salt, c.content, c.hash, c.prev_hash, c.codec, c.sizes, c.rest, c.messages, c.thread, c.message_prev`

	selectChange = `SELECT ` + changeColumns + ` FROM changes c WHERE c.pos = ?`
)

// reasonCodes are what reasons are stored as. Codes are never reused.
var reasonCodes = [...]selvage.Reason{
	1: selvage.ReasonUserMessage, 2: selvage.ReasonAssistantTurn, 3: selvage.ReasonToolResults, 4: selvage.ReasonRunFinished,
	5: selvage.ReasonStateEdited, 6: selvage.ReasonForked, 7: selvage.ReasonRewound, 8: selvage.ReasonSessionEnded,
	9: selvage.ReasonThreadUpdated, 10: selvage.ReasonDecision, 11: selvage.ReasonDispatch, 12: selvage.ReasonDeleted,
	13: selvage.ReasonErased,
}

// insertChange writes a row of the log.
func (t *txn) insertChange(ch *change, thread int64) error {
	reason := slices.Index(reasonCodes[:], ch.Reason)
	if reason < 1 {
		return fmt.Errorf("reason %q has no code: %w", ch.Reason, selvage.ErrUnsupported)
	}
	dropped, err := packJSON(ch.Dropped, len(ch.Dropped) == 0)
	if err != nil {
		return err
	}
	var prevHash driver.Value
	if ch.hasPrev {
		prevHash = ch.Prev[:]
	}
	sizes, messages := packMessages(ch.Messages)
	_, err = t.exec(insertChange, ch.pos, thread, int64(ch.Version), ch.prev, ch.statePrev, ch.messagePrev, ch.effect, ch.FirstSeq,
		int64(ch.Added), ch.At.UnixMilli(), int64(reason), packID(ch.ID), packID(string(ch.RunID)), packID(string(ch.ParentRunID)),
		dropped, ch.Seal(), ch.Content[:], ch.Hash[:], prevHash, sizes, packRest(ch.Rest), messages)
	return err
}

// scanChange reads the columns changeColumns of a thread's row.
func scanChange(r *rows, h *head) (*change, error) {
	id := h.Thread.ID
	ch := &change{pos: r.int(0), prev: r.int(2), statePrev: r.int(3), effect: r.int(4), messagePrev: r.int(22)}
	ch.ThreadID, ch.Version = id, selvage.Version(r.int(1))
	if r.int(21) != h.key {
		return nil, corrupt(id, ch.Version, "its row belongs to another thread")
	}
	ch.FirstSeq, ch.Added, ch.At = r.int(5), int(r.int(6)), time.UnixMilli(r.int(7)).UTC()
	code := r.int(8)
	if code < 1 || code >= int64(len(reasonCodes)) {
		return nil, corrupt(id, ch.Version, "%d is the code of no reason", code)
	}
	ch.Reason = reasonCodes[code]
	ch.ID, ch.RunID, ch.ParentRunID = r.unpackID(9), selvage.RunID(r.unpackID(10)), selvage.RunID(r.unpackID(11))
	if err := r.json(12, &ch.Dropped); err != nil {
		return nil, corrupt(id, ch.Version, "its list of dropped messages cannot be read (%v)", err)
	}
	if err := ch.SetSeal(r.blob(13)); err != nil {
		return nil, err
	}
	copy(ch.Content[:], r.blob(14))
	copy(ch.Hash[:], r.blob(15))
	if ch.hasPrev = !r.null(16); ch.hasPrev {
		copy(ch.Prev[:], r.blob(16))
	}
	if codec := r.int(17); codec != 0 {
		// A program that knew more codecs would have raised the schema version.
		return nil, corrupt(id, ch.Version, "its body is stored in a way (%d) that does not exist", codec)
	}
	if ch.Rest = json.RawMessage("{}"); !r.null(19) {
		ch.Rest = r.blob(19)
	}
	var err error
	if ch.Messages, err = unpackMessages(r.blob(18), r.blob(20)); err != nil {
		return nil, corrupt(id, ch.Version, "its messages cannot be told apart (%v)", err)
	}
	return ch, nil
}

// readChange reads the change at a position, and proves its content.
func readChange(c *conn, h *head, pos int64) (*change, error) {
	var ch *change
	var bad error
	found, err := c.one(func(r *rows) { ch, bad = scanChange(r, h) }, selectChange, pos)
	switch {
	case err != nil || bad != nil:
		return nil, errors.Join(err, bad)
	case !found:
		return nil, corrupt(h.Thread.ID, h.Thread.Version, "the change at position %d is missing", pos)
	}
	return ch, ch.VerifyContent()
}

// packRest stores nothing for a set without a rest.
func packRest(rest json.RawMessage) driver.Value {
	if string(rest) == "{}" {
		return nil
	}
	return []byte(rest)
}

// packMessages joins messages to one JSON array, and notes where each ends: a
// message is returned byte for byte.
func packMessages(messages []json.RawMessage) (sizes, body driver.Value) {
	if len(messages) == 0 {
		return nil, nil
	}
	total := 1
	for _, m := range messages {
		total += len(m) + 1
	}
	var ends []byte
	b := append(make([]byte, 0, total), '[')
	for i, m := range messages {
		if i > 0 {
			b = append(b, ',')
			ends = binary.AppendUvarint(ends, uint64(len(messages[i-1])))
		}
		b = append(b, m...)
	}
	b = append(b, ']')
	if ends == nil {
		return nil, b
	}
	return ends, b
}

func unpackMessages(sizes, body []byte) ([]json.RawMessage, error) {
	if len(body) == 0 {
		return nil, nil
	}
	var messages []json.RawMessage
	if body[0] != '[' || body[len(body)-1] != ']' {
		return nil, errors.New("they are no array")
	}
	body = body[1 : len(body)-1]
	for len(sizes) > 0 {
		size, n := binary.Uvarint(sizes)
		if n <= 0 || size >= uint64(len(body)) || body[size] != ',' {
			return nil, errors.New("a size is wrong")
		}
		messages = append(messages, json.RawMessage(body[:size:size]))
		sizes, body = sizes[n:], body[size+1:]
	}
	return append(messages, json.RawMessage(body[:len(body):len(body)])), nil
}
