package builtin_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/tool/builtin"
)

// names resolves as a hostile name server would.
func names(addrs map[string]string) func(context.Context, string) ([]netip.Addr, error) {
	return func(_ context.Context, host string) ([]netip.Addr, error) {
		list, ok := addrs[host]
		if !ok {
			return nil, fmt.Errorf("there is no host %s", host)
		}
		var all []netip.Addr
		for text := range strings.FieldsSeq(list) {
			all = append(all, netip.MustParseAddr(text))
		}
		return all, nil
	}
}

func get(t *testing.T, opts builtin.HTTP, address string) selvage.ToolResult {
	t.Helper()
	result, _ := call(t, named(t, "http_get", builtin.Options{HTTP: opts}), state.Document{}, map[string]string{"url": address})
	return result
}

// website is a server, and its port.
func website(t *testing.T, handler http.HandlerFunc) (server *httptest.Server, port string) {
	t.Helper()
	server = httptest.NewServer(handler)
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return server, at.Port()
}

func TestHTTPGet(t *testing.T) {
	t.Parallel()
	var agent, cookie string
	server, port := website(t, func(w http.ResponseWriter, r *http.Request) {
		agent, cookie = r.Header.Get("User-Agent"), r.Header.Get("Authorization")
		switch r.URL.Path {
		case "/page":
			w.Header().Set("Content-Type", "text/html; charset=iso-8859-1")
			_, _ = w.Write([]byte("<html><head><title>T\xfcr</title><style>x{}</style></head><body><p>One &amp; two</p><script>evil()</script><p>see <a href='/more'>more</a></body>"))
		case "/data":
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"n":9007199254740993}`))
		case "/image":
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write([]byte("\x89PNG\x00\x00"))
		case "/liar":
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write([]byte("a\x00b"))
		default:
			http.Error(w, "gone fishing", http.StatusNotFound)
		}
	})
	opts := builtin.HTTP{Allow: []string{"127.0.0.1:" + port}}
	for path, want := range map[string]string{
		"/page":  "200 OK text/html\n\nT\u00fcr\nOne & two\nsee more (/more)",
		"/data":  "200 OK application/json\n\n{\"n\":9007199254740993}",
		"/image": "200 OK image/png\n(6 bytes that are not text)",
		"/liar":  "200 OK text/plain\n(3 bytes that are not text)",
	} {
		if got := get(t, opts, server.URL+path); got.Failed || got.Content.Text() != want {
			t.Errorf("%s: %q, failed %v; want %q", path, got.Content.Text(), got.Failed, want)
		}
	}
	if got := get(t, opts, server.URL+"/none"); !got.Failed || !strings.Contains(got.Content.Text(), "404 Not Found") || !strings.Contains(got.Content.Text(), "gone fishing") {
		t.Errorf("not found: %+v", got)
	}
	if agent != "selvage http_get" || cookie != "" {
		t.Errorf("sent agent %q, authorization %q", agent, cookie)
	}
}

// Nothing but what is allowed is asked, by whatever spelling.
func TestHTTPGetAllows(t *testing.T) {
	t.Parallel()
	asked := false
	server, port := website(t, func(http.ResponseWriter, *http.Request) { asked = true })
	resolve := names(map[string]string{"example.org": "127.0.0.1", "a.example.org": "::ffff:127.0.0.1", "localhost": "127.0.0.1", "b.example.org": "93.184.215.14 10.0.0.1"})
	for _, tt := range []struct{ allow, address, want string }{
		{"", server.URL, "no host may be asked"},
		{"example.org", server.URL, "may not be asked"},
		{"127.0.0.1", server.URL, "may not be asked"}, // another port
		{"127.0.0.1:1", server.URL, "may not be asked"},
		{"*", server.URL, "may not be asked"}, // an address is no name
		{"*:" + port, server.URL, "may not be asked"},
		{"127.0.0.1:" + port, "http://[::ffff:127.0.0.1]:" + port, ""},
		{"127.0.0.1:" + port, "http://[::1]:" + port, "may not be asked"},
		{"127.0.0.1:" + port, "http://u:p@127.0.0.1:" + port, "user or a password"},
		{"127.0.0.1:" + port, "ftp://127.0.0.1:" + port, "begins with http"},
		{"127.0.0.1:" + port, "file:///etc/passwd", "begins with http"},
		{"127.0.0.1:" + port, "http:/127.0.0.1", "begins with http"},
		{"127.0.0.1:" + port, "http://127.0.0.1:" + port + "\x7f/", "is not an address"},
		{"example.org:" + port, "http://example.org.evil.test:" + port, "may not be asked"},
		{"example.org:" + port, "http://evilexample.org:" + port, "may not be asked"},
		{"*.example.org:" + port, "http://example.org:" + port, "may not be asked"},
		// A name that leads into the house.
		{"example.org:" + port, "http://example.org:" + port, "example.org is at 127.0.0.1, which is not"},
		{"example.org:" + port, "http://EXAMPLE.ORG.:" + port, "example.org is at 127.0.0.1, which is not"},
		{"*.example.org:" + port, "http://a.example.org:" + port, "which is not an address of the public Internet"},
		{"*.example.org:" + port, "http://b.example.org:" + port, "b.example.org is at 10.0.0.1, which is not"},
		{"*:" + port + ",127.0.0.1:1", "http://example.org:" + port, "which is not an address of the public Internet"},
		{"*:" + port, "http://localhost:" + port, "which is not an address of the public Internet"},
		{"*:" + port, "http://2130706433:" + port, "there is no host 2130706433"},
		{"example.org:" + port + ",127.0.0.0/8", "http://example.org:" + port, ""},
		{"localhost:" + port, "http://localhost:" + port, ""},
		{"*.example.org:" + port + ",127.0.0.1", "http://a.example.org:" + port, ""},
		{"bad host", server.URL, "is neither a host"},
		{"http://example.org", server.URL, "is neither a host"},
	} {
		asked = false
		var allow []string
		if tt.allow != "" {
			allow = strings.Split(tt.allow, ",")
		}
		got := get(t, builtin.HTTP{Allow: allow, Resolve: resolve}, tt.address)
		if asked != (tt.want == "") || got.Failed == asked || !strings.Contains(got.Content.Text(), tt.want) {
			t.Errorf("allow %q, %s: asked %v, %q; want %q", tt.allow, tt.address, asked, got.Content.Text(), tt.want)
		}
	}
}

// No address of a house is taken for one of the street.
func TestHTTPGetPrivateAddresses(t *testing.T) {
	t.Parallel()
	for text := range strings.FieldsSeq(`127.0.0.1 127.255.255.254 0.0.0.0 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 198.18.0.1 192.0.0.1 224.0.0.1
		255.255.255.255 240.0.0.1 :: ::1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::7f00:1 fe80::1 fe80::1%eth0 fc00::1 fd00:ec2::254 fec0::1 ff02::1 64:ff9b::7f00:1
		64:ff9b:1::a00:1 2002:7f00:1:: 2001:0:1::1 2001:db8::1 100::1`) {
		resolve := names(map[string]string{"example.org": text})
		got := get(t, builtin.HTTP{Allow: []string{"example.org:1"}, Resolve: resolve}, "http://example.org:1")
		if !got.Failed || !strings.Contains(got.Content.Text(), "not an address of the public Internet") {
			t.Errorf("%s: %s", text, got.Content.Text())
		}
	}
}

// A redirect leads nowhere that was not allowed.
func TestHTTPGetRedirects(t *testing.T) {
	t.Parallel()
	secret := false
	inside, _ := website(t, func(http.ResponseWriter, *http.Request) { secret = true })
	server, port := website(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/here":
			http.Redirect(w, r, "/there", http.StatusFound)
		case "/there":
			_, _ = w.Write([]byte("arrived"))
		case "/around":
			http.Redirect(w, r, "/around", http.StatusFound)
		default:
			http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
		}
	})
	opts := builtin.HTTP{Allow: []string{"127.0.0.1:" + port}}
	for path, want := range map[string]string{
		"/here":                               "arrived",
		"/around":                             "redirected more than",
		"/?to=" + url.QueryEscape(inside.URL): "may not be asked",
		"/?to=" + url.QueryEscape("http://localhost:"+port):        "is not followed",
		"/?to=" + url.QueryEscape("http://169.254.169.254/latest"): "is not followed",
		"/?to=" + url.QueryEscape("file:///etc/passwd"):            "is not followed",
		"/?to=" + url.QueryEscape("ftp://127.0.0.1:"+port):         "begins with http",
		"/?to=" + url.QueryEscape("http://u:p@127.0.0.1:"+port):    "user or a password",
	} {
		got := get(t, opts, server.URL+path)
		if !strings.Contains(got.Content.Text(), want) || got.Failed != (want != "arrived") {
			t.Errorf("%s: %+v; want %q", path, got, want)
		}
	}
	if secret {
		t.Error("a redirect was followed to another host")
	}
}

// However much a page has, and however slowly it comes, the call is bounded.
func TestHTTPGetIsBounded(t *testing.T) {
	t.Parallel()
	server, port := website(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		for range 200 {
			if _, err := w.Write([]byte(strings.Repeat("x", 64<<10))); err != nil {
				return
			}
		}
	})
	allow := []string{"127.0.0.1:" + port}
	got := get(t, builtin.HTTP{Allow: allow}, server.URL+"/big")
	if text := got.Content.Text(); got.Failed || len(text) > 140<<10 || !strings.HasSuffix(text, "(The page was longer; this is its beginning.)") {
		t.Errorf("%d bytes, failed %v", len(text), got.Failed)
	}
	got = get(t, builtin.HTTP{Allow: allow, Timeout: 20 * time.Millisecond}, server.URL+"/slow")
	if !got.Failed || !strings.Contains(got.Content.Text(), "took longer than 20ms") {
		t.Errorf("slow: %+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := named(t, "http_get", builtin.Options{HTTP: builtin.HTTP{Allow: allow}})
	c := callOf(t, map[string]string{"url": server.URL + "/slow"})
	if got, err := b.Run(ctx, c); !got.Failed || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %+v, %v", got, err)
	}
}
