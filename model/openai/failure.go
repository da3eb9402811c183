package openai

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/selvagehq/selvage/model"
)

const (
	// maxMessage bounds what is repeated of a provider's message, in bytes.
	maxMessage = 400
	// maxRetryAfter bounds how long a server may ask to wait.
	maxRetryAfter = 24 * time.Hour
)

// failure classifies what ended an attempt before its answer was finished: a
// refusal by res, an error frame, garbage, the connection, or for a nil err the
// plain end of the stream.
func (m *Model) failure(res *http.Response, err error, output bool) error {
	var frame *ssestream.StreamError
	var certificate *tls.CertificateVerificationError
	switch {
	case res != nil && res.StatusCode >= http.StatusBadRequest:
		return m.refusal(res)
	case errors.As(err, &frame):
		return m.frame(frame, output)
	case errors.As(err, &certificate):
		return &model.Error{Class: model.Permanent, Err: m.redact(certificate)}
	case err != nil && !output && unreachable(err) != nil:
		return model.Broken(false, m.redact(unreachable(err)))
	case err != nil:
		return model.Broken(output, m.redact(fmt.Errorf("the answer broke off: %w", withoutURL(err))))
	case res != nil && !output && !isEventStream(res):
		return &model.Error{Class: model.Permanent, Status: res.StatusCode,
			Err: errors.New("the server did not answer with an event stream; is the base URL the one of a compatible API, such as http://localhost:11434/v1?")}
	default:
		return model.Broken(output, errors.New("the stream ended before the answer did"))
	}
}

// refusal is the error of a response with an error status.
func (m *Model) refusal(res *http.Response) error {
	// The SDK has read the body and put it back.
	body, _ := io.ReadAll(res.Body) // what could not be read is only missing from the message
	p := readProblem(body)
	e := &model.Error{Class: classOfStatus(res.StatusCode, p), Status: res.StatusCode, RetryAfter: retryAfter(res.Header)}
	switch {
	case res.StatusCode == http.StatusUnauthorized:
		// Providers repeat parts of the key here.
		e.Err = errors.New("the provider does not accept the API key; check that it is set and still valid")
	case p.message != "":
		e.Err = m.redact(errors.New(p.message))
	default:
		e.Err = errors.New("the provider gave no reason")
	}
	return e
}

// frame is the error of an error object in the stream.
func (m *Model) frame(f *ssestream.StreamError, output bool) error {
	p := readProblem(f.Event.Data)
	e := &model.Error{Class: p.class(), Err: m.redact(fmt.Errorf("the provider broke off: %s", p.message))}
	if output && e.Class.Retryable() {
		e.Class = model.Cut
	}
	return e
}

// classOfStatus returns what a status means. A used-up quota comes as "too many
// requests" too, but waiting does not fill it.
func classOfStatus(status int, p problem) model.Class {
	switch {
	case status == http.StatusTooManyRequests && p.class() == model.Permanent:
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

// problem is what a provider says about a failure.
type problem struct {
	message string
	words   []string // type and code, where they are words
	status  int      // the code, where it is a number
}

// class returns what the type or code of an error mean without a status.
func (p problem) class() model.Class {
	if p.status >= http.StatusBadRequest {
		return classOfStatus(p.status, problem{words: p.words})
	}
	for _, word := range p.words {
		switch word {
		case "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "invalid_request_error",
			"context_length_exceeded", "authentication_error", "invalid_api_key", "permission_error",
			"not_found_error", "model_not_found", "content_policy_violation":
			return model.Permanent
		}
	}
	for _, word := range p.words {
		switch word {
		case "rate_limit_error", "rate_limit_exceeded":
			return model.RateLimited
		}
	}
	return model.Transient
}

// readProblem reads the shapes that errors come in: {"error": {"message", "type",
// "code"}}, {"error": "..."} and {"message": "..."}.
func readProblem(body []byte) problem {
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	// What is no JSON is a proxy's page: nothing of it is worth repeating.
	_ = json.Unmarshal(body, &outer)
	var inner struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    any    `json:"code"`
	}
	if json.Unmarshal(outer.Error, &inner.Message) != nil {
		_ = json.Unmarshal(outer.Error, &inner) // not there, or of a shape of its own
	}
	if inner.Message == "" {
		inner.Message = outer.Message
	}
	p := problem{message: oneLine(inner.Message), words: []string{inner.Type}}
	switch code := inner.Code.(type) {
	case string:
		p.words = append(p.words, code)
	case float64:
		p.status = int(code)
	}
	return p
}

// oneLine makes a provider's message fit for a terminal and a log.
func oneLine(s string) string {
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

// redact replaces an error that repeats the key.
func (m *Model) redact(err error) error {
	if key := m.options.APIKey; len(key) >= minSecret && strings.Contains(err.Error(), key) {
		return errors.New(strings.ReplaceAll(err.Error(), key, "[key]"))
	}
	return err
}

// minSecret is how long a key is at least for its text to be replaced. A
// shorter one is a placeholder, and may be part of any word.
const minSecret = 8

// unreachable says which service could not be connected to; nil if err is
// something else.
func unreachable(err error) error {
	var dial *net.OpError
	if !errors.As(err, &dial) || dial.Op != "dial" {
		return nil
	}
	host := "of the model"
	var e *url.Error
	if errors.As(err, &e) {
		if u, parseErr := url.Parse(e.URL); parseErr == nil {
			host = "at " + u.Host
		}
	}
	return fmt.Errorf("the service %s cannot be reached: %w", host, dial.Err)
}

// withoutURL drops the URL that net/http puts in front.
func withoutURL(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

func isEventStream(res *http.Response) bool {
	mediaType, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return err == nil && mediaType == "text/event-stream"
}

// retryAfter reads how long h asks to wait: milliseconds, seconds or a date,
// which counts from the server's own clock where it tells it.
func retryAfter(h http.Header) time.Duration {
	if d, ok := scaled(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	value := h.Get("Retry-After")
	if d, ok := scaled(value, time.Second); ok {
		return d
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

// scaled reads a number of units, rounded up to a millisecond.
func scaled(s string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(n) || n < 0 {
		return 0, false
	}
	ms := math.Ceil(n * float64(unit/time.Millisecond))
	return time.Duration(min(ms, float64(maxRetryAfter/time.Millisecond))) * time.Millisecond, true
}
