package mcp

import (
	"bytes"
	"encoding/json"
)

// The SDK reads schemas and structured results into values of Go whose numbers
// are float64, which changes an integer beyond 2^53. What a server sends is
// therefore given a copy of the original text, in a place where the SDK keeps a
// string as it is.
const exactKey = "io.github.selvagehq/exact"

// exactly gives one message of a server the copies. What is not understood is
// returned as it is: it is the SDK's to complain.
func exactly(message []byte) []byte {
	if !bytes.Contains(message, []byte(`"structuredContent"`)) && !bytes.Contains(message, []byte(`"inputSchema"`)) {
		return message
	}
	var m, result map[string]json.RawMessage
	if json.Unmarshal(message, &m) != nil || json.Unmarshal(m["result"], &result) != nil || result == nil {
		return message
	}
	keep(result, "structuredContent")
	var tools []map[string]json.RawMessage
	if json.Unmarshal(result["tools"], &tools) == nil {
		for _, t := range tools {
			keep(t, "inputSchema")
		}
		result["tools"] = encoded(tools)
	}
	m["result"] = encoded(result)
	if whole := encoded(m); whole != nil {
		return whole
	}
	return message
}

// keep puts the text of a member beside it.
func keep(object map[string]json.RawMessage, member string) {
	value, ok := object[member]
	if object == nil || !ok {
		return
	}
	var meta map[string]json.RawMessage
	if json.Unmarshal(object["_meta"], &meta) != nil || meta == nil {
		meta = map[string]json.RawMessage{}
	}
	meta[exactKey] = encoded(string(value))
	object["_meta"] = encoded(meta)
}

// encoded is a value as JSON on one line, nil if it is none.
func encoded(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return nil
	}
	return bytes.TrimSpace(b.Bytes())
}

// original returns the text of a value of the SDK's: the copy if there is one.
func original(meta map[string]any, value any) json.RawMessage {
	if text, ok := meta[exactKey].(string); ok && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return encoded(value)
}
