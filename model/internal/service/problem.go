package service

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/selvagehq/selvage/model"
)

// maxMessage bounds what is repeated of a provider's message, in bytes.
const maxMessage = 400

// Problem is what a provider says about a failure.
type Problem struct {
	Message    string        // one line, fit for a terminal; may be empty
	RetryAfter time.Duration // zero if it does not say

	words  []string // type, code and the like, where they are words
	status int      // the code, where it is a number
	daily  bool     // it tells of an amount for each day
}

// used are the words for what was paid for, or granted for a day, and is used
// up. Waiting for less than a day does not bring it back.
var used = map[string]bool{
	"insufficient_quota": true, "billing_hard_limit_reached": true, "billing_not_active": true, "billing_error": true,
}

// final are the words for requests that will fail again.
var final = map[string]bool{
	"invalid_request_error": true, "context_length_exceeded": true, "authentication_error": true, "invalid_api_key": true,
	"permission_error": true, "not_found_error": true, "model_not_found": true, "content_policy_violation": true,
	"request_too_large": true,
}

// busy are the words for too many requests.
var busy = map[string]bool{"rate_limit_error": true, "rate_limit_exceeded": true}

// broke is what providers write that have no word of its own for it, lower
// case: Anthropic's two ways to say so.
var broke = []string{"credit balance is too low", "specified api usage limits"}

// Class returns what a problem means that came without a status.
func (p *Problem) Class() model.Class {
	switch {
	case p.usedUp():
		return model.Quota
	case p.status >= http.StatusBadRequest:
		return p.classOf(p.status)
	case p.has(final):
		return model.Permanent
	case p.has(busy):
		return model.RateLimited
	default:
		return model.Transient
	}
}

// classOf returns what a problem with a status means. What is used up comes as
// "too many requests" too, but waiting does not fill it.
func (p *Problem) classOf(status int) model.Class {
	switch {
	case status == http.StatusPaymentRequired, p.usedUp():
		return model.Quota
	case status == http.StatusTooManyRequests && p.has(final):
		return model.Permanent
	case status == http.StatusTooManyRequests:
		return model.RateLimited
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly:
		return model.Transient
	case status == http.StatusNotImplemented, status == http.StatusHTTPVersionNotSupported:
		return model.Permanent
	case status >= http.StatusInternalServerError:
		return model.Transient
	default:
		return model.Permanent
	}
}

func (p *Problem) has(meaning map[string]bool) bool {
	for _, word := range p.words {
		if meaning[word] {
			return true
		}
	}
	return false
}

func (p *Problem) usedUp() bool {
	if p.daily || p.has(used) {
		return true
	}
	said := strings.ToLower(p.Message)
	for _, words := range broke {
		if strings.Contains(said, words) {
			return true
		}
	}
	return false
}

// ReadProblem reads the shapes that errors come in: {"error": {"message", "type",
// "code"}}, {"error": "..."}, {"message": "..."}, and any of them in a list.
func ReadProblem(body []byte) *Problem {
	var list []json.RawMessage
	if body = bytes.TrimSpace(body); json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	// What is no JSON is a proxy's page: nothing of it is worth repeating.
	_ = json.Unmarshal(body, &outer)
	var inner struct {
		Message string          `json:"message"`
		Type    string          `json:"type"`
		Code    any             `json:"code"`
		Details json.RawMessage `json:"details"`
	}
	if json.Unmarshal(outer.Error, &inner.Message) != nil {
		_ = json.Unmarshal(outer.Error, &inner) // not there, or of a shape of its own
	}
	if inner.Message == "" {
		inner.Message = outer.Message
	}
	p := &Problem{Message: OneLine(inner.Message), words: []string{inner.Type}}
	switch code := inner.Code.(type) {
	case string:
		p.words = append(p.words, code)
	case float64:
		p.status = int(code)
	}
	p.readDetails(inner.Details)
	return p
}

// readDetails reads what Google's services add: when to try again, and which
// quota was meant.
func (p *Problem) readDetails(data json.RawMessage) {
	var details []struct {
		RetryDelay string `json:"retryDelay"`
		Violations []struct {
			QuotaID string `json:"quotaId"`
		} `json:"violations"`
	}
	if json.Unmarshal(data, &details) != nil {
		return
	}
	for _, d := range details {
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait > 0 {
			p.RetryAfter = min(wait, maxRetryAfter)
		}
		for _, v := range d.Violations {
			p.daily = p.daily || strings.Contains(v.QuotaID, "PerDay")
		}
	}
}

// OneLine makes a provider's message fit for a terminal and a log.
func OneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
	if len(s) > maxMessage {
		s = strings.ToValidUTF8(s[:maxMessage], "") + "..."
	}
	return strings.TrimSpace(s)
}
