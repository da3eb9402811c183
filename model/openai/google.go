package openai

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/openai/openai-go/v3"

	"github.com/selvagehq/selvage"
)

// Google's models sign their first call of a turn, and the newer ones refuse a
// conversation whose calls lack the signature. It travels beside the protocol,
// as extra_content of the call, and is kept as the signature of reasoning.

// googleTag marks the signatures that are Google's, since a conversation may
// have been with other models too.
const googleTag = "google:"

// unsigned stands, by Google's own rules, for the signature of a call that no
// model of theirs made.
const unsigned = "skip_thought_signature_validator"

type extraContent struct {
	Google struct {
		ThoughtSignature string `json:"thought_signature,omitempty"`
	} `json:"google"`
}

// thoughtSignature reads the signature out of the extra content of a call.
func thoughtSignature(raw string) string {
	var extra extraContent
	if raw == "" || json.Unmarshal([]byte(raw), &extra) != nil {
		return ""
	}
	return extra.Google.ThoughtSignature
}

// sign puts the signature of the message that call is the first of back where
// it came from.
func (m *Model) sign(call *openai.ChatCompletionMessageFunctionToolCallParam, content selvage.Content) {
	var extra extraContent
	for i := range content {
		if signature, is := strings.CutPrefix(content[i].Signature, googleTag); is {
			extra.Google.ThoughtSignature = signature
		}
	}
	if extra.Google.ThoughtSignature == "" && m.mustSign() {
		extra.Google.ThoughtSignature = unsigned
	}
	if extra.Google.ThoughtSignature != "" {
		call.SetExtraFields(map[string]any{"extra_content": extra})
	}
}

// mustSign reports whether the model is one of Google's that insist.
func (m *Model) mustSign() bool {
	u, err := url.Parse(m.options.BaseURL)
	google := err == nil && (u.Hostname() == "googleapis.com" || strings.HasSuffix(u.Hostname(), ".googleapis.com"))
	_, name, found := strings.Cut(m.options.Model, "gemini-")
	return google && found && !strings.HasPrefix(name, "1") && !strings.HasPrefix(name, "2")
}
