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

	limited    bool   // CutAfterBytes holds
	left       int    // bytes that may still pass
	fromServer bool   // in this direction
	refusing   bool   // what is to be refused then
	passed     [2]int // bytes so far, to the server and from it
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

// CutAfterBytes has every connection cut once that many bytes have gone in one
// direction, on all of them together; afterwards new connections are refused if
// refuse says so. What was set before no longer holds.
func (p *Proxy) CutAfterBytes(n int, fromServer, refuse bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limited, p.left, p.fromServer, p.refusing = true, n, fromServer, refuse
}

// CutNoMore ends what [Proxy.CutAfterBytes] and [Proxy.Refuse] began. It
// reports whether anything was cut.
func (p *Proxy) CutNoMore() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.limited
	p.limited, p.refuses = false, false
	return !was
}

// Passed is how many bytes have passed, to the server and from it.
func (p *Proxy) Passed() (to, from int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.passed[0], p.passed[1]
}

// spend takes n bytes from those that may pass, and returns how many of them
// may and whether these were the last.
func (p *Proxy) spend(n int, fromServer bool) (may int, spent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	direction := 0
	if fromServer {
		direction = 1
	}
	p.passed[direction] += n
	if !p.limited || fromServer != p.fromServer {
		return n, false
	}
	may = min(n, p.left)
	if p.left -= may; p.left > 0 {
		return may, false
	}
	p.limited, p.refuses = false, p.refusing
	return may, true
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
		may, spent := p.spend(len(f.raw), step.FromServer)
		if _, err := to.Write(f.raw[:may]); err != nil || verdict != Pass {
			return
		}
		if spent {
			p.CutAll()
			return
		}
	}
}
