package mcp

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// web carries the requests to a server over HTTP.
type web struct {
	at      *url.URL
	headers map[string]string
	next    http.RoundTripper
}

// webTransport speaks to the server at a URL, and to no other. Idle ends the
// connections that nobody uses.
func webTransport(s *Server, next http.RoundTripper) (t sdk.Transport, idle func(), err error) {
	at, err := url.Parse(s.URL)
	if err != nil {
		return nil, nil, err
	}
	idle = func() {}
	if next == nil {
		own := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second,
			MaxResponseHeaderBytes: 64 << 10, IdleConnTimeout: time.Minute}
		next, idle = own, own.CloseIdleConnections
	}
	client := &http.Client{Transport: &web{at: at, headers: s.Headers, next: next}, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if r.URL.Scheme != at.Scheme || r.URL.Host != at.Host {
			return fmt.Errorf("it redirects to %s, which is not followed; configure that URL if it is meant", r.URL.Redacted())
		}
		return nil
	}}
	return &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, MaxRetries: 2, MaxEventSize: 4 * maxLine}, idle, nil
}

// RoundTrip implements [http.RoundTripper].
func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != w.at.Scheme || r.URL.Host != w.at.Host {
		return nil, fmt.Errorf("%s is not the server", r.URL.Redacted())
	}
	r = r.Clone(r.Context())
	for name, value := range w.headers {
		r.Header.Set(name, value)
	}
	response, err := w.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body := response.Body
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch kind {
	case "text/event-stream":
		response.Body = &events{lines{from: bufio.NewReaderSize(body, 16<<10), close: body.Close}}
	default:
		response.Body = &document{from: io.LimitReader(body, maxLine+1), close: body.Close}
	}
	return response, nil
}

// document is a body that is one message.
type document struct {
	from  io.Reader
	close func() error
	whole *bytes.Reader
}

// Read implements [io.Reader].
func (d *document) Read(b []byte) (int, error) {
	if d.whole == nil {
		data, err := io.ReadAll(d.from)
		if err != nil {
			return 0, err
		}
		if len(data) > maxLine {
			return 0, errLongLine
		}
		d.whole = bytes.NewReader(exactly(data))
	}
	return d.whole.Read(b)
}

// Close implements [io.Closer].
func (d *document) Close() error { return d.close() }

// events is a body of server-sent events, whose data is a message a line.
type events struct{ lines }

// Read implements [io.Reader].
func (e *events) Read(b []byte) (int, error) {
	for len(e.rest) == 0 {
		line, err := readLine(e.from, maxLine)
		if err != nil {
			return 0, err
		}
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			line = append(append([]byte("data: "), exactly(bytes.TrimSpace(data))...), '\n')
		}
		e.rest = line
	}
	n := copy(b, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}
