package selvage

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// plainMessage, plainPart and plainContent are a message without decoders of
// its own: what encoding/json makes of it is what ours has to make of it.
type plainContent []plainPart

type plainPart Part

func (c *plainContent) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		var text string
		err := json.Unmarshal(data, &text)
		*c = plainContent{{Type: PartText, Text: text}}
		return err
	}
	var parts []plainPart
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(&parts)
	*c = parts
	return err
}

// plainMessage has the fields of Message, its own Content hiding the other one.
type plainMessage struct {
	*Message
	Content plainContent `json:"content,omitempty"`
}

// decodePlainly is decodeMessage by encoding/json alone.
func decodePlainly(data []byte) (Message, error) {
	var m Message
	plain := plainMessage{Message: &m}
	err := json.Unmarshal(data, &plain)
	if plain.Content != nil {
		m.Content = make(Content, len(plain.Content))
		for i, p := range plain.Content {
			m.Content[i] = Part(p)
		}
	}
	return m, err
}

// sameDecoded fails unless data is decoded as encoding/json decodes it.
func sameDecoded(t interface {
	Helper()
	Fatalf(string, ...any)
}, data []byte) {
	t.Helper()
	want, wantErr := decodePlainly(data)
	lent := bytes.Clone(data)
	got, err := decodeMessage(lent)
	clear(lent) // what was decoded has no part in it
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%s\ndecodeMessage: %v, encoding/json: %v", data, err, wantErr)
	}
	if err != nil {
		return
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s\ndecodeMessage: %#v\nencoding/json: %#v", data, got, want)
	}
	if id, err := decodeMessageID(data); err != nil || id != want.ID {
		t.Fatalf("%s\ndecodeMessageID: %q, %v", data, id, err)
	}
}

// written are messages as they are stored, with everything they can have.
var written = []string{
	`{"id":"m-1","role":"user","content":[{"type":"text","text":"a <b> & \u2028 \u0000 \"c\" \\ / \n 🧵 é"}]}`,
	`{"id":"m-2","seq":7,"role":"user","content":[{"type":"text","text":"look"},{"type":"image","media_type":"image/png","name":"a.png","data":"AAEC/w=="},` +
		`{"type":"file","media_type":"text/plain","blob":"9f86"},{"type":"data","value":{"z":9007199254740993,"a":[1.0,-0,1e400,-1.5E-7,null,true,false,{}]}}],` +
		`"metadata":{"":null,"a":[],"b":"\u0041\u0000","\n":{"":1.50}}}`,
	`{"role":"assistant","content":[{"type":"reasoning","text":"hm","signature":"c2ln"}],"tool_calls":[{"id":"c-1","name":"pay","arguments":` +
		`{"to":"<b>","rate":1.50}},{"id":"c-2","name":"look"}],"visibility":"internal","run_id":"r","step":3}`,
	`{"role":"tool","content":[{"type":"text"}],"tool_call_id":"c-2","visibility":"all","created_at":"2026-11-21T13:35:13.123Z","erased":true}`,
	`{"role":"system"}`, `{}`,
}

// TestReadsWhatIsWritten holds that the quick way is the way of all that is
// stored: members that it does not know would only be slow, and nobody saw it.
func TestReadsWhatIsWritten(t *testing.T) {
	t.Parallel()
	for _, data := range written {
		if _, ok := readMessage([]byte(data)); !ok {
			t.Errorf("left to encoding/json: %s", data)
		}
		sameDecoded(t, []byte(data))
	}
	for _, v := range []any{Message{}, Part{}, ToolCall{}} {
		fields := map[string]int{"Message": 12, "Part": 8, "ToolCall": 3}
		if kind := reflect.TypeOf(v); kind.NumField() != fields[kind.Name()] {
			t.Errorf("%s has other fields than messagecode.go knows", kind.Name())
		}
	}
}

// TestLeavesTheRest holds that what is written otherwise, or wrong, is left to
// encoding/json, which decides.
func TestLeavesTheRest(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		``, `null`, `[]`, `{"role":"user"} `, ` {"role":"user"}`, `{"role":"user"}x`, `{"role":"user",}`, `{,"role":"user"}`,
		`{"role":"user","role":"tool"}`, `{"role":"user","id":"late"}`, `{"ROLE":"user"}`, `{"role":"other"}`, `{"role":"u\u0073er"}`,
		`{"role":"user","unknown":1}`, `{"role":"user","content":"text"}`, `{"role":"user","content":null}`, `{"role":"user","content":[]}`,
		`{"role":"user","content":[{"type":"text","unknown":1}]}`, `{"role":"user","content":[{"type":"text"},]}`,
		`{"role":"user","content":[{"type":"image","data":"A"}]}`, `{"role":"user","content":[{"type":"image","data":"AA\u003d="}]}`,
		`{"id":"\ud83e\uddf5","role":"user"}`, `{"id":"\ud83e","role":"user"}`, "{\"id\":\"\xff\",\"role\":\"user\"}", "{\"id\":\"\n\",\"role\":\"user\"}",
		`{"id":"\x","role":"user"}`, `{"id":"\u12g4","role":"user"}`, `{"id":"\u12`, `{"id":"\`, `{"id":"`, `{"id":null,"role":"user"}`,
		`{"seq":0,"role":"user"}`, `{"seq":01,"role":"user"}`, `{"seq":1.0,"role":"user"}`, `{"seq":-1,"role":"user"}`, `{"seq":1234567890123,"role":"user"}`,
		`{"role":"user","metadata":{}}`, `{"role":"user","metadata":{"a":01}}`, `{"role":"user","metadata":{"a":-}}`, `{"role":"user","metadata":{"a":1.}}`,
		`{"role":"user","metadata":{"a":1e}}`, `{"role":"user","metadata":{"a":nul}}`, `{"role":"user","metadata":{"a": 1}}`, `{"role":"user","metadata":{"a":[1,]}}`,
		`{"role":"user","created_at":"yesterday"}`, `{"role":"user","created_at":null}`, `{"role":"user","erased":false}`,
		`{"role":"user","metadata":{"a":` + string(bytes.Repeat([]byte("["), 200)) + string(bytes.Repeat([]byte("]"), 200)) + `}}`,
	} {
		if m, ok := readMessage([]byte(data)); ok {
			t.Errorf("read as %+v: %s", m, data)
		}
		sameDecoded(t, []byte(data))
	}
}

// FuzzMessageDecode holds that decoding is what encoding/json does, for any bytes.
func FuzzMessageDecode(f *testing.F) {
	for _, data := range written {
		f.Add([]byte(data))
	}
	f.Add([]byte(`{"role":"user","metadata":{"a":1,"a":2}}`))
	f.Add([]byte(`{"role":"user","content":"hi"}`))
	f.Fuzz(func(t *testing.T, data []byte) { sameDecoded(t, data) })
}

// TestDecodeMatches writes messages of any content and holds that they are
// read the quick way, and as encoding/json reads them; so, too, with a byte
// changed, which a disk may do.
func TestDecodeMatches(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawMessage(t)
		data, err := encodeJSON(&m)
		if err != nil {
			t.Fatalf("%+v: %v", m, err)
		}
		if _, ok := readMessage(data); !ok {
			t.Fatalf("left to encoding/json: %s", data)
		}
		sameDecoded(t, data)
		at := rapid.IntRange(0, len(data)-1).Draw(t, "at")
		data[at] = rapid.SampledFrom([]byte("\"\\{}[],:0-e \x00\xffu")).Draw(t, "byte")
		sameDecoded(t, data)
	})
}

// drawMessage draws a message with any of the fields.
func drawMessage(t *rapid.T) Message {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "<&>", "\u2028\x00\x7f\\\"", "\xff\xc3", "🧵"}))
	raw := rapid.SampledFrom([]json.RawMessage{nil, []byte(`9007199254740993`), []byte(`-0.10e+4`), []byte(`{"b":1.0,"a":[null,"\ud800",{}]}`), []byte(`"é"`)})
	part := rapid.Custom(func(t *rapid.T) Part {
		return Part{Type: rapid.SampledFrom(partNames).Draw(t, "type"), Text: text.Draw(t, "text"), MediaType: text.Draw(t, "media type"),
			Name: text.Draw(t, "name"), Data: rapid.SliceOf(rapid.Byte()).Draw(t, "data"), Blob: text.Draw(t, "blob"), Value: raw.Draw(t, "value"),
			Signature: text.Draw(t, "signature")}
	})
	call := rapid.Custom(func(t *rapid.T) ToolCall {
		return ToolCall{ID: text.Draw(t, "call"), Name: text.Draw(t, "tool"), Arguments: raw.Draw(t, "arguments")}
	})
	return Message{ID: text.Draw(t, "id"), Seq: int64(rapid.IntRange(0, 999_999_999).Draw(t, "seq")), Role: rapid.SampledFrom(roleNames).Draw(t, "role"),
		Content: rapid.SliceOfN(part, 0, 3).Draw(t, "content"), ToolCalls: rapid.SliceOfN(call, 0, 3).Draw(t, "calls"), ToolCallID: text.Draw(t, "call"),
		Visibility: rapid.SampledFrom([]Visibility{"", VisibleAll, VisibleInternal}).Draw(t, "visibility"), RunID: RunID(text.Draw(t, "run")),
		Step: rapid.IntRange(0, 99).Draw(t, "step"), Metadata: rapid.MapOfN(text, raw, 0, 3).Draw(t, "metadata"),
		CreatedAt: time.UnixMilli(rapid.Int64Range(0, 1<<41).Draw(t, "at")).UTC(), Erased: rapid.Bool().Draw(t, "erased")}
}
