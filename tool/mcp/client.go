package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/tool"
)

// Client is connected to one server and offers its tools. It is safe for
// concurrent use.
type Client struct {
	server Server
	opts   Options
	log    *slog.Logger

	over    context.Context // ends with Close
	end     context.CancelFunc
	calls   sync.WaitGroup
	changed atomic.Bool // the server said that its tools changed, or it is a new one

	turn   chan struct{} // whoever holds it may touch link and closed
	link   *link
	closed bool

	listing chan struct{} // whoever holds it may touch listed
	listed  []tool.Tool

	tokens  atomic.Int64
	reports sync.Map // of calls under way, by progress token: func(string)
}

// Connect starts or finds a server and greets it. The error matches
// [selvage.ErrInvalid] if the server is described wrongly, else
// [selvage.ErrUnavailable]. Close ends what Connect began.
func Connect(ctx context.Context, s Server, opts Options) (*Client, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	c := &Client{server: s, opts: opts, turn: make(chan struct{}, 1), listing: make(chan struct{}, 1)}
	if c.opts.Logger == nil {
		c.opts.Logger = slog.New(slog.DiscardHandler)
	}
	if c.opts.Grace <= 0 {
		c.opts.Grace = 2 * time.Second
	}
	c.log = c.opts.Logger.With("mcp", s.Name)
	c.over, c.end = context.WithCancel(context.Background())
	l, err := c.acquire(ctx)
	if err != nil {
		c.end()
		return nil, err
	}
	c.release(l, false)
	return c, nil
}

// Name returns the name of the server.
func (c *Client) Name() string { return c.server.Name }

// Changed reports whether [Client.Tools] may answer other tools than before.
func (c *Client) Changed() bool { return c.changed.Load() }

// Close ends the calls under way and the connection, and waits for them; the
// process of a server has ended when it returns. A second Close does nothing.
func (c *Client) Close() error {
	c.turn <- struct{}{}
	was := c.closed
	c.closed = true
	<-c.turn
	if was {
		return nil
	}
	c.end()
	c.calls.Wait()
	if c.link != nil {
		c.link.close()
	}
	return nil
}

// acquire returns the connection, a new one if there is none that can be used.
// It is given back by release.
func (c *Client) acquire(ctx context.Context) (*link, error) {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-c.turn }()
	if c.closed {
		return nil, fmt.Errorf("the connection to the MCP server %s is closed: %w", c.server.Name, selvage.ErrClosed)
	}
	if c.link != nil && !c.link.usable() {
		c.retire()
	}
	if c.link == nil {
		opened, err := c.open(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, fmt.Errorf("the MCP server %s cannot be reached: %w: %w", c.server.Name, cause(err), selvage.ErrUnavailable)
		}
		c.link = opened
		c.changed.Store(true)
	}
	c.link.users++
	c.calls.Add(1)
	return c.link, nil
}

// release gives a connection back; one that broke is not used again.
func (c *Client) release(l *link, broken bool) {
	c.turn <- struct{}{}
	l.users--
	if broken && c.link == l {
		c.retire()
	} else if l.retired && l.users == 0 {
		l.close()
	}
	<-c.turn
	c.calls.Done()
}

// retire gives the connection up. Its last user closes it.
func (c *Client) retire() {
	l := c.link
	c.link, l.retired = nil, true
	if l.users == 0 {
		l.close()
	}
}

// cause leaves out what the SDK says about its own workings.
func cause(err error) error {
	for _, noise := range []string{`calling "initialize": `, `calling "server/discover": `, `calling "tools/call": `, `calling "tools/list": `} {
		if text, ok := strings.CutPrefix(err.Error(), noise); ok {
			return &quoted{text, err}
		}
	}
	return err
}

type quoted struct {
	text string
	err  error
}

func (q *quoted) Error() string { return q.text }
func (q *quoted) Unwrap() error { return q.err }

// Bounds of what a server may offer.
const (
	maxTools       = 512
	maxDescription = 16 << 10
	maxSchema      = 256 << 10
)

// Tools returns the tools of the server as they are now, by name. One that
// cannot be offered, because its schema is none, is left out and logged. They
// work until the client is closed. An error matches [selvage.ErrUnavailable].
func (c *Client) Tools(ctx context.Context) ([]tool.Tool, error) {
	select {
	case c.listing <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-c.listing }()
	l, err := c.acquire(ctx)
	if err != nil {
		return nil, err
	}
	if c.changed.Swap(false) {
		listed, err := c.list(ctx, l)
		if err != nil {
			c.changed.Store(true)
			c.release(l, l.broke(err))
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, fmt.Errorf("list the tools of the MCP server %s: %w: %w", c.server.Name, cause(err), selvage.ErrUnavailable)
		}
		c.listed = listed
	}
	c.release(l, false)
	return slices.Clone(c.listed), nil
}

// list asks the server for its tools.
func (c *Client) list(ctx context.Context, l *link) ([]tool.Tool, error) {
	ctx, done := context.WithTimeoutCause(ctx, connectTimeout, fmt.Errorf("it did not answer within %s", connectTimeout))
	defer done()
	defer context.AfterFunc(c.over, done)()
	var found []*sdk.Tool
	for t, err := range l.session.Tools(ctx, nil) {
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			return nil, err
		case len(found) == maxTools:
			return nil, fmt.Errorf("it has more than %d tools", maxTools)
		}
		found = append(found, t)
	}
	names := make([]string, len(found))
	for i, t := range found {
		names[i] = t.Name
	}
	called := namesFor(c.server.Name, names)
	var tools []tool.Tool
	for _, t := range found {
		made := c.toolOf(t, called[t.Name])
		_, err := tool.Bind(made)
		if known := slices.ContainsFunc(tools, func(o tool.Tool) bool { return o.Spec().Name == made.spec.Name }); known && err == nil {
			err = errors.New("it is listed twice")
		}
		if err != nil {
			c.log.WarnContext(ctx, "a tool of an MCP server cannot be offered", "tool", t.Name, "err", err)
			continue
		}
		tools = append(tools, made)
	}
	slices.SortFunc(tools, func(a, b tool.Tool) int { return strings.Compare(a.Spec().Name, b.Spec().Name) })
	return tools, nil
}
