package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// link is one connection to a server. It is used until it is dead.
type link struct {
	session *sdk.ClientSession
	process *process      // nil if the server is reached over HTTP
	idle    func()        // ends connections that nobody uses
	dead    chan struct{} // closed when the connection has ended
	grace   time.Duration

	// The client guards these.
	users   int
	retired bool
}

// open starts or finds the server and greets it.
func (c *Client) open(ctx context.Context) (_ *link, err error) {
	ctx, done := context.WithTimeoutCause(ctx, connectTimeout, fmt.Errorf("it did not answer within %s", connectTimeout))
	defer done()
	l := &link{idle: func() {}, dead: make(chan struct{}), grace: c.opts.Grace}
	var transport sdk.Transport
	if c.server.URL != "" {
		transport, l.idle, err = webTransport(&c.server, c.opts.Transport)
	} else if l.process, err = start(&c.server, c.log, c.opts.Grace); err == nil {
		transport = l.process.transport()
	}
	if err != nil {
		return nil, err
	}
	if l.session, err = c.sdkClient().Connect(ctx, transport, nil); err == nil {
		go func() {
			defer close(l.dead)
			_ = l.session.Wait() // calls tell what is wrong
		}()
		return l, nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if l.process != nil {
		fate := ""
		if ctx.Err() == nil {
			fate = l.lastly()
		}
		l.process.stop()
		if fate != "" {
			err = fmt.Errorf("it ended when it was started (%s)", fate)
		}
	}
	l.idle()
	return nil, err
}

// sdkClient is a client for one connection.
func (c *Client) sdkClient() *sdk.Client {
	version := "devel"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	return sdk.NewClient(&sdk.Implementation{Name: "selvage", Version: version}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{}, // the server gets to ask nothing of us
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			c.changed.Store(true)
		},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { c.progress(r.Params) },
		// What servers log is of use as long as they do; the feature is on its
		// way out, and nothing takes its place for servers over HTTP.
		//lint:ignore SA1019 it works for as long as servers use it
		LoggingMessageHandler: func(ctx context.Context, r *sdk.LoggingMessageRequest) {
			c.log.LogAttrs(ctx, slog.LevelDebug, "MCP server logs", slog.String("level", string(r.Params.Level)), slog.Any("data", r.Params.Data))
		},
	})
}

// usable reports whether calls may still be sent.
func (l *link) usable() bool {
	select {
	case <-l.dead:
		return false
	default:
		return !l.retired && (l.process == nil || l.process.fate() == "")
	}
}

// broke reports whether an error of a call means that the connection is over.
func (l *link) broke(err error) bool {
	select {
	case <-l.dead:
		return true
	default:
	}
	return errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, sdk.ErrSessionMissing) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe)
}

// lastly tells how the process of a broken connection ended, giving it a
// moment to do so.
func (l *link) lastly() string {
	if l.process == nil {
		return ""
	}
	timer := time.NewTimer(l.grace)
	defer timer.Stop()
	select {
	case <-l.process.ended:
	case <-timer.C:
	}
	return l.process.fate()
}

// close ends the connection and waits until nothing of it is left.
func (l *link) close() {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = l.session.Close() // nothing can be done about it
	}()
	timer := time.NewTimer(l.grace)
	defer timer.Stop()
	select {
	case <-closed:
	case <-timer.C:
	}
	if l.process != nil {
		l.process.stop()
	}
	<-closed
	<-l.dead
	l.idle()
}
