package runner

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/selvagehq/selvage"
)

// What a message of a run says in its metadata to whoever goes on with the
// run.
const (
	// MetadataFailed is the key in the metadata of a tool message whose call
	// failed. Its value is true.
	MetadataFailed = "failed"
	// MetadataUnknown is the key in the metadata of a tool message whose call
	// may have taken effect although it did not succeed. Its value is true.
	MetadataUnknown = "unknown"
	// MetadataDecided is the key in the metadata of a tool message whose call
	// was suspended and went on by a decision, a signal or the clock. Its value
	// is true.
	MetadataDecided = "decided"
	// MetadataArguments is the key in the metadata of a tool message whose call
	// was run with other arguments than the model gave it, as somebody decided.
	// Its value is those.
	MetadataArguments = "arguments"
	// MetadataOffered is the key in the metadata of an answer that calls tools
	// although hooks had withheld some. Its value is the list of the names
	// that were offered.
	MetadataOffered = "offered"
	// MetadataModel is the key in the metadata of an answer that another model
	// gave than that of the run. Its value is the name of that model.
	MetadataModel = "model"
	// MetadataStop is the key in the metadata of the message after which a
	// hook wants the run to end. Its value is {"code":...,"detail":...}.
	MetadataStop = "stop"
)

// stopMark is a [selvage.Stop] as metadata hold it.
type stopMark struct {
	Code   string `json:"code"`
	Detail string `json:"detail,omitempty"`
}

// mark adds an entry to the metadata of a message, which may share them.
func mark(m *selvage.Message, key string, value any) {
	raw, _ := json.Marshal(value) // names and texts always have JSON
	m.Metadata = maps.Clone(m.Metadata)
	if m.Metadata == nil {
		m.Metadata = make(map[string]json.RawMessage, 1)
	}
	m.Metadata[key] = raw
}

// markOffer notes with an answer which tools it was given, if those are not
// all of the run.
func (x *run) markOffer(reply *selvage.Message, offer []selvage.ToolSpec) {
	if len(reply.ToolCalls) == 0 || len(offer) == len(x.tools) {
		return
	}
	names := make([]string, len(offer))
	for i := range offer {
		names[i] = offer[i].Name
	}
	mark(reply, MetadataOffered, names)
}

// offeredWith returns the tools that an answer of the run was given. If it
// says so unintelligibly it was given none.
func (x *run) offeredWith(reply *selvage.Message) []selvage.ToolSpec {
	raw, withheld := reply.Metadata[MetadataOffered]
	if !withheld {
		return x.tools
	}
	var names []string
	if json.Unmarshal(raw, &names) != nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(x.tools), func(s selvage.ToolSpec) bool { return !slices.Contains(names, s.Name) })
}

// markStop notes what a hook wants the run to end with in the last message of
// the turn that is about to be recorded. If the turn has none, the hook will
// be asked again.
func (x *run) markStop() {
	if x.stop == nil || x.stopMarked {
		return
	}
	for i, m := range slices.Backward(x.pending.messages) {
		if x.turned(&m) {
			mark(&x.pending.messages[i], MetadataStop, stopMark(*x.stop))
			x.stopMarked = true
			return
		}
	}
}

// stopAsked finds what a hook wanted the run to end with in messages of its
// last turn.
func (x *run) stopAsked(messages []selvage.Message) *selvage.Stop {
	for i := range messages {
		raw, asked := messages[i].Metadata[MetadataStop]
		if !asked || !x.turned(&messages[i]) {
			continue
		}
		var found stopMark
		_ = json.Unmarshal(raw, &found) // it stops without a reason too
		x.stopMarked = true
		return (*selvage.Stop)(&found)
	}
	return nil
}

// turned reports whether a message is an answer or a result of this run.
func (x *run) turned(m *selvage.Message) bool {
	return (m.RunID == x.id || m.RunID == "") && !m.Internal() && (m.Role == selvage.RoleAssistant || m.Role == selvage.RoleTool)
}
