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

// errSilent is why an attempt whose server stays silent is cancelled.
var errSilent = errors.New("the server is silent")

// watch ends an attempt when its server sends nothing for too long. It runs
// only while somebody waits for the server, so a slow reader is no silence.
type watch struct {
	limit    time.Duration
	timer    *time.Timer    // nil waits for ever
	response *http.Response // nil until there is one
}

// newWatch returns a watch at rest that calls expire when time is up. A
// negative limit never is.
func newWatch(limit time.Duration, expire func()) *watch {
	w := &watch{limit: limit}
	if limit >= 0 {
		w.timer = time.AfterFunc(limit, expire)
		w.timer.Stop()
	}
	return w
}

// arm starts the time again.
func (w *watch) arm() {
	if w.timer != nil {
		w.timer.Reset(w.limit)
	}
}

// rest stops it.
func (w *watch) rest() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// shorten lowers the limit from the next wait on.
func (w *watch) shorten(limit time.Duration) {
	w.limit = min(w.limit, limit)
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
