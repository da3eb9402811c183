package selvage

import (
	"bytes"
	"encoding/json"
)

// PartSeal is what proves one part of a change. The zero value belongs to a
// part that is as it was received, under the salt of the change.
type PartSeal struct {
	// Salt is the part's own salt, where the change has lost its common one.
	Salt []byte `json:"salt,omitempty"`
	// Digest is the salted digest of what was received, where that is gone.
	Digest Hash `json:"digest,omitzero"`
}

// The parts of a change after its messages, counted from their number.
const (
	restPart = iota
	statePart
	extraParts
)

// Erased returns the indexes of the submitted messages that were erased.
func (c *Change) Erased() []int {
	var gone []int
	for i := range c.Messages {
		if i < len(c.Parts) && !c.Parts[i].Digest.IsZero() {
			gone = append(gone, i)
		}
	}
	return gone
}

// StateGone reports whether the change had patches or a snapshot that were
// compacted.
func (c *Change) StateGone() bool {
	i := len(c.Messages) + statePart
	return i < len(c.Parts) && !c.Parts[i].Digest.IsZero()
}

// StateSize is how many bytes of the change compaction would remove: those of
// its patches or its snapshot, and of the document kept with it.
func (c *Change) StateSize() int {
	_, state := splitRest(c.Rest)
	return len(state) + len(c.Base)
}

// HasState reports whether the change has patches or a snapshot, or had them
// before they were compacted.
func (c *Change) HasState() bool {
	_, state := splitRest(c.Rest)
	return state != nil || c.StateGone()
}

// EraseMessages replaces submitted messages by skeletons: id, role, visibility,
// run, step, and which calls it makes or answers stay; content, metadata and
// arguments go, and the salt with them, so that the digest that stays gives
// nothing away. Those erased already stay as they are. The change still
// verifies. What the slices of c held before is not modified. The error matches
// [ErrCorrupt], and then c is as it was.
func (c *Change) EraseMessages(indexes ...int) error {
	next, err := c.unbound()
	if err != nil {
		return err
	}
	next.Messages = append([]json.RawMessage(nil), c.Messages...)
	for _, i := range indexes {
		if i < 0 || i >= len(c.Messages) {
			return c.corrupt("it has no message %d to erase", i)
		}
		p := &next.Parts[i]
		if !p.Digest.IsZero() {
			continue
		}
		if next.Messages[i], err = skeleton(c.Messages[i]); err != nil {
			return c.corrupt("message %d cannot be read: %v", i, err)
		}
		*p = PartSeal{Digest: partDigest(p.Salt, c.Messages[i])}
	}
	*c = *next
	return nil
}

// unbound returns a copy of the change in which every part has a salt of its
// own and the common one is gone.
func (c *Change) unbound() (*Change, error) {
	if err := c.checkSeal(); err != nil {
		return nil, err
	}
	n, hasState := len(c.Messages), c.HasState()
	next := *c
	next.Salt, next.Parts = nil, make([]PartSeal, n+extraParts)
	copy(next.Parts, c.Parts)
	for i := range next.Parts {
		p := &next.Parts[i]
		if i < n && !p.Digest.IsZero() || i == n+statePart && !hasState {
			continue
		}
		p.Salt = c.saltOf(i)
	}
	return &next, nil
}

// CompactState removes patches and snapshot, and a document that was kept with
// the change. Their digest stays and so does its salt: they can still be told
// from others, and the change still verifies. The error matches [ErrCorrupt],
// and then c is as it was.
func (c *Change) CompactState() error {
	if err := c.checkSeal(); err != nil {
		return err
	}
	c.Base = nil
	facts, state := splitRest(c.Rest)
	if state == nil {
		return nil
	}
	n := len(c.Messages)
	parts := make([]PartSeal, n+extraParts)
	copy(parts, c.Parts)
	parts[n+statePart].Digest = stateDigest(c.saltOf(n+statePart), state)
	c.Parts, c.Rest = parts, facts
	return nil
}

// Same reports whether set, whose encoding body is, has the content the change
// was appended with. What was erased cannot be compared any more and counts as
// the same if its skeleton is.
func (c *Change) Same(set *ChangeSet, body *Body) bool {
	if c.checkSeal() != nil || len(body.Messages) != len(c.Messages) {
		return false
	}
	for _, i := range c.Erased() {
		if left, err := skeleton(body.Messages[i]); err != nil || !bytes.Equal(left, c.Messages[i]) {
			return false
		}
	}
	facts, state := splitRest(body.Rest)
	if (state != nil) != c.HasState() {
		return false
	}
	again := Change{ID: set.ID, RunID: set.RunID, ParentRunID: set.ParentRunID, Reason: set.Reason,
		Salt: c.Salt, Parts: c.Parts, Messages: body.Messages, Rest: body.Rest}
	if c.StateGone() {
		i := len(c.Messages) + statePart
		if stateDigest(c.saltOf(i), state) != c.Parts[i].Digest {
			return false
		}
		again.Rest = facts
	}
	content, err := again.digest()
	return err == nil && content == c.Content
}

// digest works out the digest of the content from what is left of it.
func (c *Change) digest() (Hash, error) {
	if err := c.checkSeal(); err != nil {
		return Hash{}, err
	}
	n := len(c.Messages)
	names := [...]string{c.ID, string(c.RunID), string(c.ParentRunID), string(c.Reason)}
	return contentDigest(names, n, func(i int) Hash {
		switch {
		case i < n && i < len(c.Parts) && !c.Parts[i].Digest.IsZero():
			return c.Parts[i].Digest
		case i < n:
			return partDigest(c.saltOf(i), c.Messages[i])
		case c.StateGone():
			return restDigest(c.saltOf(n), c.Rest, c.Parts[n+statePart].Digest)
		}
		facts, state := splitRest(c.Rest)
		if state == nil {
			return partDigest(c.saltOf(n), facts)
		}
		return restDigest(c.saltOf(n), facts, stateDigest(c.saltOf(n+statePart), state))
	}), nil
}

// saltOf returns the salt of the i-th part of a change whose seal was checked.
func (c *Change) saltOf(i int) []byte {
	if i < len(c.Parts) && c.Parts[i].Salt != nil {
		return c.Parts[i].Salt
	}
	if len(c.Salt) != SaltSize {
		return nil
	}
	return partSalt([SaltSize]byte(c.Salt), i)
}

// checkSeal reports whether the salts and digests are those that one of the
// ways to reduce a change leaves behind. The error matches [ErrCorrupt].
func (c *Change) checkSeal() error {
	n := len(c.Messages)
	if c.Parts == nil {
		if len(c.Salt) != SaltSize {
			return c.corrupt("its salt has %d bytes instead of %d", len(c.Salt), SaltSize)
		}
		return nil
	}
	if len(c.Parts) != n+extraParts {
		return c.corrupt("%d parts are sealed instead of %d", len(c.Parts), n+extraParts)
	}
	common := c.Salt != nil
	if common && len(c.Salt) != SaltSize {
		return c.corrupt("its salt has %d bytes instead of %d", len(c.Salt), SaltSize)
	}
	for i, p := range c.Parts {
		var want bool // a salt of its own
		switch gone := !p.Digest.IsZero(); {
		case i < n && gone && common, i == n+restPart && gone:
			return c.corrupt("part %d is sealed otherwise than it can be", i)
		case i == n+statePart:
			_, state := splitRest(c.Rest)
			if gone && state != nil {
				return c.corrupt("its change of the state is there and is not")
			}
			want = !common && (gone || state != nil)
		default:
			want = !common && !gone
		}
		if want && len(p.Salt) != SaltSize || !want && p.Salt != nil {
			return c.corrupt("the salt of part %d has %d bytes", i, len(p.Salt))
		}
	}
	return nil
}

// skeleton is what stays of a message.
func skeleton(raw json.RawMessage) (json.RawMessage, error) {
	m, err := decodeMessage(raw)
	if err != nil {
		return nil, err
	}
	left := Message{ID: m.ID, Role: m.Role, ToolCallID: m.ToolCallID, Visibility: m.Visibility, RunID: m.RunID, Step: m.Step,
		CreatedAt: m.CreatedAt, Erased: true} // only a fork keeps the time with the message
	for _, call := range m.ToolCalls {
		left.ToolCalls = append(left.ToolCalls, ToolCall{ID: call.ID, Name: call.Name})
	}
	return encodeJSON(&left)
}

// The members of a rest that are about the state. They come last.
var stateMembers = [...][]byte{[]byte(`"patches":`), []byte(`"snapshot":`)}

// splitRest divides a rest into its facts, which are a rest themselves, and the
// members about the state. There are none, and state is nil, in most; then the
// facts are the rest, and nothing was allocated.
func splitRest(rest []byte) (facts, state []byte) {
	at := stateAt(rest)
	if at < 0 {
		return rest, nil
	}
	cut := at
	if cut > 1 {
		cut-- // the comma
	}
	facts = append(append(make([]byte, 0, cut+1), rest[:cut]...), '}')
	return facts, rest[at : len(rest)-1]
}

// stateAt returns where the members about the state begin, or -1. It reads no
// further than there: what comes before them is short.
func stateAt(rest []byte) int {
	if len(rest) <= len("{}") || rest[len(rest)-1] != '}' {
		return -1
	}
	depth := 0
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			if depth == 1 && (i == 1 || rest[i-1] == ',') {
				for _, m := range stateMembers {
					if bytes.HasPrefix(rest[i:], m) {
						return i
					}
				}
			}
			i = stringEnd(rest, i)
		}
	}
	return -1
}

// stringEnd returns where the string that begins at i ends.
func stringEnd(data []byte, i int) int {
	for i++; i < len(data) && data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i
}
