package openai

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/openai/openai-go/v3/option"
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

// errSilent is why an attempt whose server stays silent is cancelled.
var errSilent = errors.New("the server is silent")

// watch ends an attempt when its server sends nothing for too long. It runs
// only while somebody waits for the server, so a slow reader is no silence.
type watch struct {
	limit    time.Duration // negative waits for ever
	timer    *time.Timer
	response *http.Response // nil until there is one
	whole    bool           // the answer is complete
}

// newWatch returns a watch at rest that calls expire when time is up.
func newWatch(limit time.Duration, expire func()) *watch {
	w := &watch{limit: limit, timer: time.AfterFunc(time.Hour, expire)} // any time that cannot pass before the next line
	w.timer.Stop()
	return w
}

// arm starts the time again.
func (w *watch) arm() {
	if w.limit >= 0 {
		w.timer.Reset(w.limit)
	}
}

// rest stops it.
func (w *watch) rest() { w.timer.Stop() }

// shorten lowers the limit from the next wait on.
func (w *watch) shorten(limit time.Duration) {
	if w.limit < 0 || w.limit > limit {
		w.limit = limit
	}
}

// complete tells the watch that the answer is: what still comes is worth less.
func (w *watch) complete() {
	w.whole = true
	w.shorten(afterFinish)
}

// silence is the error of a server that said nothing for too long.
func (w *watch) silence() error {
	return fmt.Errorf("the server sent nothing for %s", w.limit)
}

// follow is the middleware that lets the watch see the response.
func (w *watch) follow(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	res, err := next(req)
	if res != nil && res.Body != nil {
		w.response = res
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
	watch *watch
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.watch.arm()
	defer b.watch.rest()
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
