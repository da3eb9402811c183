package builtin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/tool"
)

// HTTP says what http_get may ask. The zero value allows nothing.
type HTTP struct {
	// Allow lists the hosts: a name ("example.org"), all names below one
	// ("*.example.org"), every name ("*"), an address or a range of addresses
	// ("10.0.0.0/8"), each with a port if it is not that of the scheme
	// ("localhost:8080"). A name that leads to a loopback, private or other
	// address that is not of the public Internet is refused unless the
	// address is listed too, or the name is localhost.
	Allow []string

	// Resolve finds the addresses of a name. Nil asks the system.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)

	// Timeout bounds one call. Zero means 30 seconds.
	Timeout time.Duration
}

// Bounds of http_get.
const (
	httpTimeout     = 30 * time.Second
	maxPageBytes    = 4 << 20   // read
	maxPageText     = 128 << 10 // told to the model
	maxHTTPHeaders  = 64 << 10
	maxHTTPRedirect = 5
)

type httpIn struct {
	URL string `json:"url" jsonschema:"http or https address to read"`
}

// httpGet reads pages of hosts that are allowed. It sends no credentials, uses
// no proxy and follows redirects on the same host only.
func httpGet(opts HTTP) tool.Tool {
	timeout := opts.Timeout
	if timeout <= 0 {
		timeout = httpTimeout
	}
	return tool.Func("http_get", "Reads a page by HTTP and tells its text.", func(ctx context.Context, in httpIn) (selvage.ToolResult, error) {
		hosts, err := parseAllow(opts.Allow)
		if err != nil {
			return selvage.ToolResult{}, err
		}
		to, err := parseAddress(in.URL)
		if err != nil {
			return selvage.ToolResult{}, err
		}
		f := &fetcher{hosts: hosts, resolve: opts.Resolve}
		return f.get(ctx, to)
	}, tool.Options{Effect: selvage.EffectNone, Timeout: timeout})
}

// parseAddress reads an address that http_get takes.
func parseAddress(text string) (*url.URL, error) {
	to, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%.200q is not an address: %w", text, errors.Unwrap(err))
	case to.Scheme != "http" && to.Scheme != "https", to.Hostname() == "":
		return nil, fmt.Errorf("%.200q is not an address that begins with http:// or https://", text)
	case to.User != nil:
		return nil, errors.New("an address with a user or a password in it is not read")
	}
	to.Fragment = ""
	return to, nil
}

// fetcher reads one page.
type fetcher struct {
	hosts   []host
	resolve func(ctx context.Context, host string) ([]netip.Addr, error)
}

func (f *fetcher) get(ctx context.Context, to *url.URL) (selvage.ToolResult, error) {
	if err := f.admit(to); err != nil {
		return selvage.ToolResult{}, err
	}
	transport := &http.Transport{DialContext: f.dial, DisableKeepAlives: true, MaxResponseHeaderBytes: maxHTTPHeaders}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		return f.follow(next.URL, via)
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, to.String(), nil)
	if err != nil {
		return selvage.ToolResult{}, err
	}
	request.Header.Set("User-Agent", "selvage http_get")
	request.Header.Set("Accept", "text/*, application/json, */*;q=0.1")
	response, err := client.Do(request)
	if err != nil {
		var refused *url.Error
		if errors.As(err, &refused) && ctx.Err() == nil {
			err = refused.Err
		}
		return selvage.ToolResult{}, err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	body, err := io.ReadAll(io.LimitReader(response.Body, maxPageBytes+1))
	if err != nil && len(body) == 0 {
		return selvage.ToolResult{}, fmt.Errorf("read the page: %w", err)
	}
	return pageOf(response, body, err), nil
}

// follow decides about a redirect.
func (f *fetcher) follow(next *url.URL, via []*http.Request) error {
	from := via[len(via)-1].URL
	switch {
	case len(via) > maxHTTPRedirect:
		return fmt.Errorf("it was redirected more than %d times", maxHTTPRedirect)
	case nameOf(next.Hostname()) != nameOf(from.Hostname()),
		from.Scheme == "https" && next.Scheme != "https":
		return fmt.Errorf("it redirects to %s, which is not followed; ask for that address if it is wanted", next.Redacted())
	}
	if _, err := parseAddress(next.String()); err != nil {
		return fmt.Errorf("it redirects: %w", err)
	}
	return f.admit(next)
}

// pageOf tells a response: its status and what can be read of it.
func pageOf(response *http.Response, body []byte, cut error) selvage.ToolResult {
	truncated := cut != nil || len(body) > maxPageBytes
	body = body[:min(len(body), maxPageBytes)]
	kind, params, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil {
		kind, _, _ = mime.ParseMediaType(http.DetectContentType(body))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", response.Status, kind)
	text, readable := textOf(kind, params["charset"], body)
	if !readable {
		fmt.Fprintf(&b, "\n(%d bytes that are not text)", len(body))
	} else if text != "" {
		if shown := clip(text, maxPageText); len(shown) < len(text) {
			text, truncated = shown, true
		}
		b.WriteString("\n\n" + text)
	}
	if truncated {
		b.WriteString("\n(The page was longer; this is its beginning.)")
	}
	result := tool.Text(b.String())
	result.Failed = response.StatusCode >= 400
	return result
}

// clip cuts a text to at most limit bytes, between two characters.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "")
}

// binary reports whether bytes are no text of any encoding read here.
func binary(body []byte) bool { return bytes.IndexByte(body[:min(len(body), 8<<10)], 0) >= 0 }
