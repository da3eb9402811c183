package pgtest

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"testing"
)

// frame is one message of PostgreSQL's protocol: a byte that says which, and
// the rest with its length. The first message of a client has no such byte.
type frame struct {
	kind byte // 0: the first message of a client
	raw  []byte
}

// body is the frame without kind and length.
func (f frame) body() []byte {
	if f.kind == 0 {
		return f.raw[4:]
	}
	return f.raw[5:]
}

const maxFrame = 64 << 20

// readFrame reads a message, or the first one of a client.
func readFrame(r io.Reader, first bool) (frame, error) {
	header := make([]byte, 5)
	if first {
		header = header[:4]
	}
	if _, err := io.ReadFull(r, header); err != nil {
		return frame{}, err
	}
	var f frame
	if !first {
		f.kind = header[0]
	}
	n := binary.BigEndian.Uint32(header[len(header)-4:])
	if n < 4 || n > maxFrame {
		return frame{}, fmt.Errorf("a message of %d bytes", n)
	}
	f.raw = append(header, make([]byte, n-4)...)
	_, err := io.ReadFull(r, f.raw[len(header):])
	return f, err
}

// The requests that a client may make before its startup message.
const (
	cancelRequest = 80877102
	sslRequest    = 80877103
	gssRequest    = 80877104
)

// readStartup reads what a client begins with and refuses encryption, which is
// not asked for on a socket of this machine. Ok is false for a request to
// cancel, which is nothing to answer.
func readStartup(client net.Conn) (startup frame, ok bool, err error) {
	for {
		f, err := readFrame(client, true)
		if err != nil {
			return f, false, err
		}
		switch binary.BigEndian.Uint32(f.body()) {
		case cancelRequest:
			return f, false, nil
		case sslRequest, gssRequest:
			if _, err := client.Write([]byte{'N'}); err != nil {
				return f, false, err
			}
		default:
			return f, true, nil
		}
	}
}

// address is where the server of a URL listens.
func address(tb testing.TB, raw string) (network, addr string) {
	tb.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		tb.Fatal("pgtest: the server's URL cannot be read")
	}
	port := u.Port()
	if port == "" {
		port = "5432"
	}
	if host := u.Query().Get("host"); host != "" {
		return "unix", filepath.Join(host, ".s.PGSQL."+port)
	}
	return "tcp", net.JoinHostPort(u.Hostname(), port)
}

// through is a URL that leads to the same database through the socket in dir.
func through(tb testing.TB, raw, dir string) string {
	tb.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		tb.Fatal("pgtest: the server's URL cannot be read")
	}
	q := u.Query()
	q.Set("host", dir)
	q.Set("sslmode", "disable")
	u.Host, u.RawQuery = "", q.Encode()
	return u.String()
}
