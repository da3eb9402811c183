package service

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/selvagehq/selvage"
)

// Arguments turns what a model wrote into valid JSON: as it is if it can be,
// else as a string that holds it.
func Arguments(text string) json.RawMessage {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	switch {
	case text == "":
		return json.RawMessage("{}")
	case json.Valid([]byte(text)) && text[0] != '"':
		return json.RawMessage(text)
	}
	quoted, err := json.Marshal(text)
	if err != nil { // a string always has JSON
		panic(err)
	}
	return quoted
}

// Written is the opposite of [Arguments]: the text that the model wrote.
func Written(arguments json.RawMessage) string {
	var text string
	if len(arguments) > 0 && arguments[0] == '"' && json.Unmarshal(arguments, &text) == nil {
		return text
	}
	if len(arguments) == 0 {
		return "{}"
	}
	return string(arguments)
}

// CallIDs returns the ids that calls in messages have.
func CallIDs(messages []selvage.Message) map[string]bool {
	ids := make(map[string]bool)
	for i := range messages {
		for _, c := range messages[i].ToolCalls {
			ids[c.ID] = true
		}
	}
	return ids
}

// CallID returns id if a call may have it, else one of ours, and takes it.
func CallID(id string, taken map[string]bool) string {
	if !isASCII(id) || selvage.CheckID("call", id) != nil || taken[id] {
		id = "call_" + selvage.NewID()
	}
	taken[id] = true
	return id
}

// isASCII keeps out ids that two stores could normalize differently.
func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > 0x7e })
}

// Plain is content in one string: text as it is, data as JSON. Where a protocol
// takes text alone, an image or file leaves its name, so that the model knows
// that something was there.
func Plain(c selvage.Content) string {
	var b strings.Builder
	for i := range c {
		switch p := &c[i]; p.Type {
		case selvage.PartText:
			b.WriteString(p.Text)
		case selvage.PartData:
			b.Write(p.Value)
		case selvage.PartImage, selvage.PartFile:
			fmt.Fprintf(&b, "[%s %s]", p.Type, label(p))
		}
	}
	return b.String()
}

// label is the best name there is for a part.
func label(p *selvage.Part) string {
	if p.Name != "" {
		return p.Name
	}
	return p.MediaType
}

// Aside is how an instruction in the middle of a conversation is put into a
// user's message, where no other place takes it.
func Aside(text string) string { return "<system>\n" + text + "\n</system>" }

// MediaType is the media type of an image or file, found out if not given.
func MediaType(p *selvage.Part) string {
	if p.MediaType != "" {
		return p.MediaType
	}
	return http.DetectContentType(p.Data)
}

// CheckBytes refuses an image or file whose bytes are not there.
func CheckBytes(i int, p *selvage.Part) error {
	if len(p.Data) == 0 {
		return fmt.Errorf("content[%d]: the %s is named by its blob only; load its bytes before asking a model", i, p.Type)
	}
	return nil
}

// CheckKey refuses a key that could never work.
func CheckKey(key string) error {
	if strings.ContainsFunc(key, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return &selvage.InvalidError{Field: "api key", Reason: "the key holds white space; was it copied with the end of its line?"}
	}
	return nil
}

// CheckURL refuses an address that could never work. The error does not repeat
// it, since it may hold a password.
func CheckURL(base, example string) error {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return &selvage.InvalidError{Field: "base url", Reason: "it is not an http or https URL; write it like " + example}
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return &selvage.InvalidError{Field: "base url", Reason: "it may not hold a user, a query or a fragment; the key goes into its own setting"}
	}
	return nil
}
