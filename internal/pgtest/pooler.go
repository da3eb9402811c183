package pgtest

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Pooler stands between clients and a server and lends connections by
// transaction: every transaction of a client gets another connection than the
// one before, so that nothing a session remembers is there for the next.
type Pooler struct {
	network, addr string
	listener      net.Listener
	dir           string
	wg            sync.WaitGroup

	mu      sync.Mutex // guards what follows
	idle    []net.Conn // the one that was used longest ago first
	all     map[net.Conn]struct{}
	hello   []byte // what a server says to a new client
	startup []byte
}

// backends is how many connections a pooler makes before it lends one again.
const backends = 4

// NewPooler starts a pooler in front of the server of a URL. It ends with the
// test, and serves one database: the one its first client asks for.
func NewPooler(tb testing.TB, server string) *Pooler {
	tb.Helper()
	p := &Pooler{all: make(map[net.Conn]struct{})}
	p.network, p.addr = address(tb, server)
	var err error
	if p.dir, err = os.MkdirTemp("", "pgpool-"); err != nil {
		tb.Fatal(err)
	}
	if p.listener, err = net.Listen("unix", filepath.Join(p.dir, ".s.PGSQL.5432")); err != nil {
		tb.Fatal(err)
	}
	p.wg.Go(func() {
		for {
			client, err := p.listener.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serve(client) })
		}
	})
	tb.Cleanup(func() {
		_ = p.listener.Close() // its only error is that it was closed
		p.mu.Lock()
		for c := range p.all {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.wg.Wait()
		_ = os.RemoveAll(p.dir) // what is left is in a temporary directory
	})
	return p
}

// URL is where a database of the server is found through the pooler.
func (p *Pooler) URL(tb testing.TB, server string) string {
	tb.Helper()
	return through(tb, server, p.dir)
}

// serve answers one client.
func (p *Pooler) serve(client net.Conn) {
	p.mu.Lock()
	p.all[client] = struct{}{}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		_ = client.Close()
		delete(p.all, client)
	}()
	startup, ok, err := readStartup(client)
	if err != nil || !ok {
		return
	}
	p.mu.Lock()
	if p.startup == nil {
		p.startup = startup.raw
	}
	p.mu.Unlock()
	server, err := p.take()
	if err != nil {
		return
	}
	p.give(server)
	p.mu.Lock()
	hello := p.hello
	p.mu.Unlock()
	if _, err := client.Write(hello); err != nil {
		return
	}
	for {
		server, err := p.transaction(client)
		if err != nil {
			if server != nil {
				_ = server.Close()
			}
			return
		}
		p.give(server)
	}
}

// take lends a connection.
func (p *Pooler) take() (net.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) >= backends {
		c := p.idle[0]
		p.idle = p.idle[1:]
		return c, nil
	}
	c, err := net.Dial(p.network, p.addr)
	if err != nil {
		return nil, err
	}
	p.all[c] = struct{}{}
	if _, err := c.Write(p.startup); err != nil {
		return nil, err
	}
	var hello []byte
	for {
		f, err := readFrame(c, false)
		if err != nil {
			return nil, err
		}
		hello = append(hello, f.raw...)
		if f.kind == 'Z' {
			p.hello = hello
			return c, nil
		}
	}
}

func (p *Pooler) give(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, c)
}

var errBye = errors.New("the client said good bye")

// transaction passes on one transaction of a client.
func (p *Pooler) transaction(client net.Conn) (server net.Conn, err error) {
	for {
		// All that the client says before it waits for an answer.
		var asked []byte
		for {
			f, err := readFrame(client, false)
			if err != nil {
				return server, err
			}
			if f.kind == 'X' {
				return server, errBye
			}
			asked = append(asked, f.raw...)
			if f.kind == 'S' || f.kind == 'Q' {
				break
			}
		}
		if server == nil {
			if server, err = p.take(); err != nil {
				return nil, err
			}
		}
		if _, err := server.Write(asked); err != nil {
			return server, err
		}
		var answer []byte
		for {
			f, err := readFrame(server, false)
			if err != nil {
				return server, err
			}
			answer = append(answer, f.raw...)
			if f.kind != 'Z' {
				continue
			}
			if _, err := client.Write(answer); err != nil {
				return server, err
			}
			if f.body()[0] == 'I' {
				return server, nil
			}
			break
		}
	}
}
