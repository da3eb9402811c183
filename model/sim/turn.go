package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"strings"

	"github.com/selvagehq/selvage"
)

// turn is where a conversation stands.
type turn struct {
	messages []selvage.Message
	user     int // index of the last user message; -1 if there is none
	asked    int // index of the last message after it that calls tools; -1 if there is none
	command  command
}

// read finds out where messages stand.
//
// A long loop pushes the message that asked for it out of the window. Without a
// user message the calls themselves say what is going on: they are answered as
// the command that must have made them.
//
// An internal message of the user role is a note of who runs the conversation,
// such as that a result came late. It is a command only if there is no other.
func read(messages []selvage.Message) turn {
	t := turn{messages: messages, user: -1, asked: -1}
	noted := -1
	for i := range messages {
		switch m := &messages[i]; {
		case m.Role == selvage.RoleUser && m.Internal():
			noted = i
		case m.Role == selvage.RoleUser:
			t.user, t.asked = i, -1
		case len(m.ToolCalls) > 0:
			t.asked = i
		}
	}
	if t.user < 0 && t.asked < 0 {
		t.user = noted
	}
	switch {
	case t.user >= 0:
		t.command = parse(messages[t.user].Text())
	case t.asked >= 0:
		t.command = command{verb: callTools}
		made := messages[t.asked].ToolCalls[0]
		if _, n, ok := parseLoopID(made.ID); ok {
			t.command = command{verb: loop, n: n, calls: []call{{made.Name, made.Arguments}}}
		}
	}
	return t
}

// work answers call and loop: with the next calls, or with the end.
func (t *turn) work() (text string, calls []selvage.ToolCall) {
	if t.command.verb == loop {
		done := t.turnsDone()
		if done >= t.command.n {
			return "Done.", nil
		}
		c := t.command.calls[0]
		id := loopID(done+1, t.command.n, t.fingerprint())
		return "", []selvage.ToolCall{{ID: id, Name: c.tool, Arguments: c.arguments}}
	}
	if t.asked >= 0 {
		return "Done: " + strings.Join(t.results(), "; "), nil
	}
	here := t.fingerprint()
	for i, c := range t.command.calls {
		id := "call_" + here + "_" + strconv.Itoa(i+1)
		calls = append(calls, selvage.ToolCall{ID: id, Name: c.tool, Arguments: c.arguments})
	}
	return "", calls
}

// turnsDone returns how many turns of a loop were taken. The id of the last
// call says so even when the window has lost the ones before it.
func (t *turn) turnsDone() int64 {
	if t.asked < 0 {
		return 0
	}
	if k, n, ok := parseLoopID(t.messages[t.asked].ToolCalls[0].ID); ok && n == t.command.n {
		return k
	}
	var turns int64
	for _, m := range t.messages[t.user+1:] {
		if len(m.ToolCalls) > 0 {
			turns++
		}
	}
	return turns
}

// results returns what the last calls came to, in the order of the calls.
func (t *turn) results() []string {
	calls := t.messages[t.asked].ToolCalls
	results := make([]string, len(calls))
	for i, c := range calls {
		results[i] = "(no result)"
		for j := range t.messages[t.asked+1:] {
			if m := &t.messages[t.asked+1+j]; m.Role == selvage.RoleTool && m.ToolCallID == c.ID {
				results[i] = textOf(m)
				break
			}
		}
	}
	return results
}

// fingerprint names this point of the conversation: no two points of a thread
// share one, so call ids made from it never meet again. Ids of messages differ
// by themselves. Where they are missing, the whole window is what differs, and
// earlier call ids in it carry the difference on when the window slides. What
// only the store knows, seq and time, is left out: a turn that is repeated
// makes the same ids whether or not its messages were read back in between.
func (t *turn) fingerprint() string {
	h := sha256.New()
	for i := range t.messages {
		m := &t.messages[i]
		for _, s := range []string{m.ID, string(m.Role), m.ToolCallID, textOf(m)} {
			writeString(h, s)
		}
		for _, c := range m.ToolCalls {
			writeString(h, c.ID)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:10])
}

// writeString adds s to h behind its length, so that neighbours cannot blend.
func writeString(h hash.Hash, s string) {
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(s)))
	h.Write(size[:]) // a hash never fails
	h.Write([]byte(s))
}

// loopID is the id of the call of turn k of n.
func loopID(k, n int64, fingerprint string) string {
	return fmt.Sprintf("loop_%d_%d_%s", k, n, fingerprint)
}

// parseLoopID reads what loopID wrote, also if the end was cut off or something
// was put behind it: a host may name calls so that they are unique to it.
func parseLoopID(id string) (k, n int64, ok bool) {
	parts := strings.Split(id, "_")
	if len(parts) < 4 || parts[0] != "loop" {
		return 0, 0, false
	}
	k, good := parseNumber(parts[1], maxCount)
	n, ok = parseNumber(parts[2], maxCount)
	return k, n, good && ok
}
