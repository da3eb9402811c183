package selvage

import (
	"encoding/base64"
	"encoding/json"
)

// decodeMessage decodes a message as [json.Unmarshal] does. Messages are read
// back far more often than they are written, and nearly always as this package
// wrote them; for those a reader that knows the order of the members is several
// times faster. Everything else, and every error, is left to encoding/json.
func decodeMessage(data []byte) (Message, error) {
	if m, ok := readMessage(data); ok {
		return m, nil
	}
	var m Message
	err := json.Unmarshal(data, &m)
	return m, err
}

// decodeMessageID decodes the id of a message and nothing else of it, so that a
// message is found whatever the rest of it has become.
func decodeMessageID(data []byte) (string, error) {
	if m, ok := readMessage(data); ok {
		return m.ID, nil
	}
	var m struct {
		ID string `json:"id"`
	}
	err := json.Unmarshal(data, &m)
	return m.ID, err
}

// readMessage reads a message written by encodeJSON. It reports false for what
// it does not know, of which it proves nothing. Its members are in the order
// of [Message]; one that is added there is to be added here.
func readMessage(data []byte) (m Message, ok bool) {
	r := jsonReader{data: data}
	r.open()
	if r.member(`"id":`) {
		m.ID = r.text()
	}
	if r.member(`"seq":`) {
		m.Seq = int64(r.count())
	}
	if r.member(`"role":`) {
		m.Role = readName(&r, roleNames)
	}
	if r.member(`"content":`) {
		m.Content = readList(&r, readPart)
	}
	if r.member(`"tool_calls":`) {
		m.ToolCalls = readList(&r, readToolCall)
	}
	if r.member(`"tool_call_id":`) {
		m.ToolCallID = r.text()
	}
	if r.member(`"visibility":`) {
		m.Visibility = readName(&r, visibilityNames)
	}
	readOrigin(&r, &m)
	r.close()
	return m, r.done()
}

// readOrigin reads the last members of a message, which tell where it is from.
func readOrigin(r *jsonReader, m *Message) {
	if r.member(`"run_id":`) {
		m.RunID = RunID(r.text())
	}
	if r.member(`"step":`) {
		m.Step = r.count()
	}
	if r.member(`"metadata":`) {
		m.Metadata = readMetadata(r)
	}
	if r.member(`"created_at":`) {
		from := r.at
		if r.quoted(); !r.failed && m.CreatedAt.UnmarshalJSON(r.data[from:r.at]) != nil {
			r.fail()
		}
	}
	if r.member(`"erased":`) {
		r.expect("true")
		m.Erased = true
	}
}

// readContent reads content that was written as parts.
func readContent(data []byte) (Content, bool) {
	r := jsonReader{data: data}
	parts := readList(&r, readPart)
	return parts, r.done()
}

func readPart(r *jsonReader) (p Part) {
	r.open()
	if r.member(`"type":`) {
		p.Type = readName(r, partNames)
	}
	if r.member(`"text":`) {
		p.Text = r.text()
	}
	if r.member(`"media_type":`) {
		p.MediaType = r.text()
	}
	if r.member(`"name":`) {
		p.Name = r.text()
	}
	if r.member(`"data":`) {
		p.Data = readBytes(r)
	}
	if r.member(`"blob":`) {
		p.Blob = r.text()
	}
	if r.member(`"value":`) {
		p.Value = r.raw()
	}
	if r.member(`"signature":`) {
		p.Signature = r.text()
	}
	r.close()
	return p
}

func readToolCall(r *jsonReader) (c ToolCall) {
	r.open()
	if r.member(`"id":`) {
		c.ID = r.text()
	}
	if r.member(`"name":`) {
		c.Name = r.text()
	}
	if r.member(`"arguments":`) {
		c.Arguments = r.raw()
	}
	r.close()
	return c
}

// readList reads an array of at least one element; an empty one is not written.
func readList[T any](r *jsonReader, read func(*jsonReader) T) (all []T) {
	r.expect("[")
	for more := true; more; more = r.skip(',') {
		all = append(all, read(r))
	}
	r.expect("]")
	return all
}

// readMetadata reads an object of at least one member.
func readMetadata(r *jsonReader) map[string]json.RawMessage {
	all := make(map[string]json.RawMessage)
	r.expect("{")
	for more := true; more; more = r.skip(',') {
		key := r.text()
		r.expect(":")
		all[key] = r.raw()
	}
	r.expect("}")
	return all
}

// readBytes reads bytes in base64.
func readBytes(r *jsonReader) []byte {
	inner, plain := r.quoted()
	out := make([]byte, base64.StdEncoding.DecodedLen(len(inner)))
	n, err := base64.StdEncoding.Decode(out, inner)
	if err != nil || !plain {
		r.fail()
	}
	return out[:n]
}

// The names that messages are full of. They are given out as they stand here,
// so that they take no memory of their own.
var (
	roleNames       = []Role{RoleUser, RoleAssistant, RoleTool, RoleSystem}
	visibilityNames = []Visibility{VisibleAll, VisibleInternal}
	partNames       = []PartType{PartText, PartReasoning, PartData, PartImage, PartFile}
)

// readName reads a string that is one of names. Another one fails: whether it
// may be stored is not decided here, only that it is rare.
func readName[T ~string](r *jsonReader, names []T) T {
	inner, _ := r.quoted()
	for _, name := range names {
		if string(inner) == string(name) {
			return name
		}
	}
	r.fail()
	return ""
}
