package pgtest

import (
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Step is one message on its way through a [Proxy].
type Step struct {
	Conn       int    // the number of the connection, from 1
	FromServer bool   // and not from the client
	Kind       byte   // the protocol's letter for it
	Body       []byte // read-only
}

// Verdict is what becomes of a message.
type Verdict int

// The verdicts.
const (
	Pass     Verdict = iota
	Cut              // the connection is cut instead of passing the message on
	Torn             // it is cut in the middle of the message
	CutAfter         // the message is passed on, then the connection is cut
)

// Proxy stands between clients and a server and cuts connections where a test
// says so.
type Proxy struct {
	network, addr string
	listener      net.Listener
	dir           string
	wg            sync.WaitGroup

	mu      sync.Mutex // guards what follows
	watch   func(Step) Verdict
	refuses bool
	conns   map[net.Conn]struct{}
	count   int
}

// NewProxy starts a proxy in front of the server of a URL. It ends with the
// test.
func NewProxy(tb testing.TB, server string) *Proxy {
	tb.Helper()
	p := &Proxy{conns: make(map[net.Conn]struct{})}
	p.network, p.addr = address(tb, server)
	var err error
	// Not the test's own directory, whose name may be too long for a socket.
	if p.dir, err = os.MkdirTemp("", "pgproxy-"); err != nil {
		tb.Fatal(err)
	}
	if p.listener, err = net.Listen("unix", filepath.Join(p.dir, ".s.PGSQL.5432")); err != nil {
		tb.Fatal(err)
	}
	p.wg.Go(p.accept)
	tb.Cleanup(func() {
		_ = p.listener.Close() // its only error is that it was closed
		p.CutAll()
		p.wg.Wait()
		_ = os.RemoveAll(p.dir) // what is left is in a temporary directory
	})
	return p
}

// URL is where a database of the server is found through the proxy.
func (p *Proxy) URL(tb testing.TB, server string) string {
	tb.Helper()
	return through(tb, server, p.dir)
}

// Watch has every further message judged by watch, which may be called by
// several connections at once. Nil passes them all.
func (p *Proxy) Watch(watch func(Step) Verdict) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watch = watch
}

// Refuse says whether new connections are refused.
func (p *Proxy) Refuse(refuse bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = refuse
}

// CutAll cuts every connection.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close() // that is all that is wanted of it
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		refused := p.refuses
		p.mu.Unlock()
		if refused {
			_ = client.Close()
			continue
		}
		server, err := net.Dial(p.network, p.addr)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.join(client, server)
	}
}

// join passes on between the two until either ends.
func (p *Proxy) join(client, server net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	n := p.count
	p.conns[client], p.conns[server] = struct{}{}, struct{}{}
	end := func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, c := range []net.Conn{client, server} {
			_ = c.Close()
			delete(p.conns, c)
		}
	}
	p.wg.Go(func() {
		defer end()
		startup, ok, err := readStartup(client)
		if err != nil {
			return
		}
		if _, err := server.Write(startup.raw); err != nil || !ok {
			return
		}
		p.pump(client, server, Step{Conn: n})
	})
	p.wg.Go(func() {
		defer end()
		p.pump(server, client, Step{Conn: n, FromServer: true})
	})
}

// pump passes messages on.
func (p *Proxy) pump(from, to net.Conn, step Step) {
	for {
		f, err := readFrame(from, false)
		if err != nil {
			return
		}
		step.Kind, step.Body = f.kind, f.body()
		p.mu.Lock()
		watch := p.watch
		p.mu.Unlock()
		verdict := Pass
		if watch != nil {
			verdict = watch(step)
		}
		switch verdict {
		case Cut:
			return
		case Torn:
			f.raw = f.raw[:len(f.raw)/2]
		}
		if _, err := to.Write(f.raw); err != nil || verdict != Pass {
			return
		}
	}
}
