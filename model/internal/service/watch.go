package service

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// maxErrorBody bounds what is read of an error response, in bytes.
const maxErrorBody = 64 << 10

const (
	// afterFinish bounds the wait for usage once the answer itself is complete.
	afterFinish = 10 * time.Second
	// afterDone and maxRest bound what a connection's reuse is worth waiting for
	// and, in bytes, reading once nothing more is of interest.
	afterDone = 100 * time.Millisecond
	maxRest   = 4 << 10
)

// ErrSilent is why an attempt whose server stays silent is cancelled.
var ErrSilent = errors.New("the server is silent")

// Watch ends an attempt when its server sends nothing for too long. It runs
// only while somebody waits for the server, so a slow reader is no silence.
//
// It serves one attempt, whose goroutine alone may call its methods.
type Watch struct {
	Response *http.Response // nil until there is one

	limit time.Duration // negative waits for ever
	timer *time.Timer
	whole bool // the answer is complete
}

// NewWatch returns a watch at rest that calls expire when time is up.
func NewWatch(limit time.Duration, expire func()) *Watch {
	w := &Watch{limit: limit, timer: time.AfterFunc(time.Hour, expire)} // any time that cannot pass before the next line
	w.timer.Stop()
	return w
}

// Arm starts the time again.
func (w *Watch) Arm() {
	if w.limit >= 0 {
		w.timer.Reset(w.limit)
	}
}

// Rest stops it.
func (w *Watch) Rest() { w.timer.Stop() }

// shorten lowers the limit from the next wait on.
func (w *Watch) shorten(limit time.Duration) {
	if w.limit < 0 || w.limit > limit {
		w.limit = limit
	}
}

// Complete tells the watch that the answer is: what still comes is worth less.
func (w *Watch) Complete() {
	w.whole = true
	w.shorten(afterFinish)
}

// Silence is the error of a server that said nothing for too long.
func (w *Watch) Silence() error {
	return fmt.Errorf("the server sent nothing for %s", w.limit)
}

// Follow is the middleware that lets the watch see the response.
func (w *Watch) Follow(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	res, err := next(req)
	if res != nil && res.Body != nil {
		w.Response = res
		body := &watchedBody{ReadCloser: res.Body, from: res.Body, watch: w}
		if res.StatusCode >= http.StatusBadRequest {
			body.from = io.LimitReader(res.Body, maxErrorBody)
		}
		res.Body = body
	}
	return res, err
}

// watchedBody arms the watch while a read waits.
type watchedBody struct {
	io.ReadCloser
	from  io.Reader
	watch *Watch
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.watch.Arm()
	defer b.watch.Rest()
	return b.from.Read(p)
}

// Close reads a complete answer to its end, which gives the connection back for
// the next turn. An incomplete one is left as it is, which closes it.
func (b *watchedBody) Close() error {
	if b.watch.whole {
		b.watch.shorten(afterDone)
		_, _ = io.CopyN(io.Discard, b, maxRest) // either way the body is closed next
	}
	return b.ReadCloser.Close()
}
