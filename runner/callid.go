package runner

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
)

// storable gives a call an id of ours and makes it one that can be recorded,
// whatever the model made up, so that the model can be told.
func storable(c *selvage.ToolCall) {
	c.ID = newCallID(c.ID)
	if c.Name = strings.ToValidUTF8(c.Name, "\uFFFD"); c.Name == "" {
		c.Name = "unnamed"
	}
	if len(c.Arguments) > 0 && !(json.Valid(c.Arguments) && utf8.Valid(c.Arguments)) {
		c.Arguments, _ = json.Marshal(string(c.Arguments)) // a string always has JSON
	}
}

// halfWritten reports whether a call whose answer was cut off in it, or after
// it, may have been meant to say more: its arguments are no JSON object, or an
// empty one, which a call is before its arguments come.
func halfWritten(c *selvage.ToolCall) bool {
	var arguments map[string]json.RawMessage
	return json.Unmarshal(c.Arguments, &arguments) != nil || len(arguments) == 0
}

// unwritten are arguments that no tool takes: what there is of them, as text.
func unwritten(arguments json.RawMessage) json.RawMessage {
	if len(arguments) > 0 && arguments[0] == '"' {
		return arguments
	}
	return json.RawMessage(`""`)
}

// noteHalfWritten tells the model why the last call of its answer was refused,
// if the token limit cut it off.
func (x *run) noteHalfWritten(response *model.Response) {
	calls := response.Message.ToolCalls
	if n := len(calls); response.Finish == model.FinishLength && n > 0 && halfWritten(&calls[n-1]) {
		x.say(selvage.Message{Role: selvage.RoleSystem, Visibility: selvage.VisibleInternal, Step: x.step,
			Content: selvage.Text("[The token limit cut your answer off in its call of " + calls[n-1].Name +
				", which was not run. Say or write less at once, or in several calls.]")})
	}
}

// callIDPrefix is how much of a provider's id is kept: with it an id has no more
// than the 40 bytes that every provider takes.
const callIDPrefix = 19

// newCallID names a call. Providers name calls too, but only within what they
// were shown; the journal and the services that are given idempotency keys
// need names that never come back. The provider's own name is still recognised
// by its beginning.
func newCallID(given string) string {
	var b [10]byte
	_, _ = rand.Read(b[:]) // never fails
	prefix := "call"
	if given != "" && !strings.ContainsFunc(given, foreignToIDs) {
		prefix = given[:min(len(given), callIDPrefix)]
	}
	return prefix + "_" + hex.EncodeToString(b[:])
}

// foreignToIDs reports whether some provider would not take a character in the
// id of a call.
func foreignToIDs(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
}
