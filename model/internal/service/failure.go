package service

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/selvagehq/selvage/model"
)

// minSecret is how long a key is at least for its text to be replaced. A
// shorter one is a placeholder, and may be part of any word.
const minSecret = 8

// Failures makes the errors of one service. None of them holds its key.
type Failures struct {
	Key string
	// NoStream is said of a server that answers with something other than an
	// event stream.
	NoStream string
}

// Broken is the error of an attempt that ended before its answer was finished,
// and not with a refusal or an error frame: of garbage, the connection, or for
// a nil err the plain end of the stream. Res may be nil.
func (f *Failures) Broken(res *http.Response, err error, output bool) error {
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &certificate):
		return &model.Error{Class: model.Permanent, Err: f.Redact(certificate)}
	case err != nil && !output && unreachable(err) != nil:
		return model.Broken(false, f.Redact(unreachable(err)))
	case err != nil:
		return model.Broken(output, f.Redact(fmt.Errorf("the answer broke off: %w", withoutURL(err))))
	case res != nil && !output && !isEventStream(res):
		return &model.Error{Class: model.Permanent, Status: res.StatusCode, Err: errors.New(f.NoStream)}
	default:
		return model.Broken(output, errors.New("the stream ended before the answer did"))
	}
}

// Refused reports whether res has an error status.
func Refused(res *http.Response) bool {
	return res != nil && res.StatusCode >= http.StatusBadRequest
}

// Refusal is the error of a response with an error status, whose body can still
// be read.
func (f *Failures) Refusal(res *http.Response) error {
	body, _ := io.ReadAll(res.Body) // what could not be read is only missing from the message
	p := ReadProblem(body)
	e := &model.Error{Class: p.classOf(res.StatusCode), Status: res.StatusCode, RetryAfter: retryAfter(res.Header)}
	if e.RetryAfter == 0 {
		e.RetryAfter = p.RetryAfter
	}
	switch {
	case res.StatusCode == http.StatusUnauthorized:
		// Providers repeat parts of the key here.
		e.Err = errors.New("the provider does not accept the API key; check that it is set and still valid")
	case p.Message != "":
		e.Err = f.Redact(errors.New(p.Message))
	default:
		e.Err = errors.New("the provider gave no reason")
	}
	return e
}

// Frame is the error of an error object in the stream.
func (f *Failures) Frame(data []byte, output bool) error {
	p := ReadProblem(data)
	e := &model.Error{Class: p.Class(), RetryAfter: p.RetryAfter, Err: f.Redact(fmt.Errorf("the provider broke off: %s", p.Message))}
	if output && e.Class.Retryable() {
		e.Class = model.Cut
	}
	return e
}

// Redact replaces an error that repeats the key.
func (f *Failures) Redact(err error) error {
	if len(f.Key) >= minSecret && strings.Contains(err.Error(), f.Key) {
		return errors.New(strings.ReplaceAll(err.Error(), f.Key, "[key]"))
	}
	return err
}

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
