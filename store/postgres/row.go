package postgres

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"github.com/selvagehq/selvage"
)

// reasons are the stored numbers of the reasons. Only ever append to it.
var reasons = [...]selvage.Reason{
	1: selvage.ReasonUserMessage, selvage.ReasonAssistantTurn, selvage.ReasonToolResults, selvage.ReasonRunFinished,
	selvage.ReasonStateEdited, selvage.ReasonForked, selvage.ReasonRewound, selvage.ReasonSessionEnded,
	selvage.ReasonThreadUpdated, selvage.ReasonDecision, selvage.ReasonDispatch, selvage.ReasonDeleted,
	selvage.ReasonErased,
}

// reasonNumber returns the stored number of a reason, 0 if it has none.
func reasonNumber(r selvage.Reason) int16 {
	for n, reason := range reasons {
		if n > 0 && reason == r {
			return int16(n)
		}
	}
	return 0
}

// The effects of a change on the state.
const (
	effectNone int16 = iota
	effectPatch
	effectReplace
)

// emptyRest is the rest of a body in which nothing is; it is stored as NULL.
const emptyRest = "{}"

// changeColumns are what a changeRow scans, in its order.
const changeColumns = `c.version, c.at, c.first_seq, c.added, c.reason, c.effect, c.id, c.run, c.parent_run,
	c.dropped, c.salt, c.content, c.hash, c.sizes, c.rest, c.messages`

// changeRow is a row of the table changes as it is scanned.
type changeRow struct {
	version, at, firstSeq int64
	added                 int32
	reason, effect        int16
	id, run, parentRun    []byte
	dropped               []byte
	salt, content, hash   []byte
	sizes, rest, messages []byte
}

// targets are where the columns are scanned to.
func (r *changeRow) targets() []any {
	return []any{&r.version, &r.at, &r.firstSeq, &r.added, &r.reason, &r.effect, &r.id, &r.run, &r.parentRun,
		&r.dropped, &r.salt, &r.content, &r.hash, &r.sizes, &r.rest, &r.messages}
}

// change decodes the row and proves that its content is what was appended. The
// hash of the change before it is not in the row.
func (r *changeRow) change(thread selvage.ThreadID) (selvage.Change, error) {
	c := selvage.Change{ThreadID: thread, Version: selvage.Version(r.version), ID: unpackID(r.id),
		RunID: selvage.RunID(unpackID(r.run)), ParentRunID: selvage.RunID(unpackID(r.parentRun)),
		At: time.UnixMilli(r.at).UTC(), FirstSeq: r.firstSeq, Added: int(r.added),
		Rest: r.rest}
	if r.rest == nil {
		c.Rest = json.RawMessage(emptyRest)
	}
	corrupt := func(what string) error {
		return damaged(thread, r.version, "its %s cannot be read", what)
	}
	if r.reason < 1 || int(r.reason) >= len(reasons) {
		return c, corrupt("reason")
	}
	c.Reason = reasons[r.reason]
	if copy(c.Content[:], r.content) != len(c.Content) || copy(c.Hash[:], r.hash) != len(c.Hash) {
		return c, corrupt("hash")
	}
	var ok bool
	if c.Dropped, ok = unpackInts(r.dropped); !ok {
		return c, corrupt("list of dropped messages")
	}
	if c.Messages, ok = unpackMessages(r.sizes, r.messages); !ok {
		return c, corrupt("list of messages")
	}
	if c.SetSeal(r.salt) != nil {
		return c, corrupt("seal")
	}
	return c, c.VerifyContent()
}

// packMessages returns the messages as one blob, and the lengths of all but
// the last.
func packMessages(messages []json.RawMessage) (sizes, blob []byte) {
	switch len(messages) {
	case 0:
		return nil, nil
	case 1:
		return nil, messages[0]
	}
	for _, m := range messages[:len(messages)-1] {
		sizes = binary.AppendUvarint(sizes, uint64(len(m)))
	}
	return sizes, bytes.Join(rawSlices(messages), nil)
}

func rawSlices(in []json.RawMessage) [][]byte {
	out := make([][]byte, len(in))
	for i := range in {
		out[i] = in[i]
	}
	return out
}

// unpackMessages undoes packMessages and reports whether the lengths fit.
func unpackMessages(sizes, blob []byte) ([]json.RawMessage, bool) {
	if blob == nil {
		return nil, len(sizes) == 0
	}
	messages := make([]json.RawMessage, 0, 2)
	for len(sizes) > 0 {
		n, width := binary.Uvarint(sizes)
		if width <= 0 || n > uint64(len(blob)) {
			return nil, false
		}
		messages = append(messages, blob[:n:n])
		sizes, blob = sizes[width:], blob[n:]
	}
	return append(messages, blob[:len(blob):len(blob)]), true
}

func packInts(ints []int) []byte {
	var b []byte
	for _, n := range ints {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return b
}

func unpackInts(b []byte) (ints []int, ok bool) {
	for len(b) > 0 {
		n, width := binary.Uvarint(b)
		if width <= 0 || n > selvage.MaxSetMessages {
			return nil, false
		}
		ints, b = append(ints, int(n)), b[width:]
	}
	return ints, true
}

// encodeJSON is json.Marshal without HTML escaping: what is stored is what was
// said.
func encodeJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// decodeJSON reads what encodeJSON wrote. The error matches
// [selvage.ErrCorrupt].
func decodeJSON(what string, data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s cannot be read: %w: %w", what, err, selvage.ErrCorrupt)
	}
	return nil
}
