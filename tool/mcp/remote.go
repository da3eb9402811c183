package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/tool"
)

// IdempotencyKey is the member of a call's _meta that holds the idempotency
// key: the same whenever this call is sent, and no other call has it.
const IdempotencyKey = "io.github.selvagehq/idempotency-key"

// remote is a tool of a server.
type remote struct {
	client *Client
	name   string // the server's
	spec   selvage.ToolSpec
}

// toolOf makes a tool of what the server tells about it.
func (c *Client) toolOf(t *sdk.Tool, name string) *remote {
	r := &remote{client: c, name: t.Name, spec: selvage.ToolSpec{Name: name, Description: describe(t), Effect: c.effectOf(t)}}
	if t.InputSchema != nil {
		r.spec.Parameters = original(t.Meta, t.InputSchema)
	}
	if len(bytes.TrimSpace(r.spec.Parameters)) == 0 || len(r.spec.Parameters) > maxSchema {
		r.spec.Parameters = json.RawMessage(`{"type":"object"}`)
	}
	switch {
	case c.server.Timeout == 0:
		r.spec.Timeout = DefaultTimeout
	case c.server.Timeout > 0:
		r.spec.Timeout = c.server.Timeout
	}
	if r.spec.Effect == selvage.EffectOnce {
		r.spec.OnUnknown = cmp.Or(c.server.OnUnknown, selvage.OnUnknownAsk)
	}
	return r
}

func describe(t *sdk.Tool) string {
	text := t.Description
	if text == "" {
		text = t.Title
	}
	if text == "" && t.Annotations != nil {
		text = t.Annotations.Title
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.ToValidUTF8(text[:min(len(text), maxDescription)], "")
}

// effectOf decides what running a tool twice would do.
func (c *Client) effectOf(t *sdk.Tool) selvage.Effect {
	hints := t.Annotations
	if hints == nil {
		hints = &sdk.ToolAnnotations{}
	}
	switch {
	case c.server.Effects[t.Name] != "":
		return c.server.Effects[t.Name]
	case c.server.Effect != "":
		return c.server.Effect
	case hints.ReadOnlyHint:
		return selvage.EffectNone
	case hints.IdempotentHint:
		return selvage.EffectIdempotent
	}
	return selvage.EffectOnce
}

// Spec implements [tool.Tool].
func (r *remote) Spec() selvage.ToolSpec { return r.spec }

// Run implements [tool.Tool].
func (r *remote) Run(ctx context.Context, call *tool.Call) (selvage.ToolResult, error) {
	for first := true; ; first = false {
		l, err := r.client.acquire(ctx)
		if err != nil {
			return selvage.ToolResult{}, err
		}
		answer, err := r.client.send(ctx, l, r.name, call)
		broken := err != nil && ctx.Err() == nil && l.broke(err)
		if broken && !(first && errors.Is(err, sdk.ErrSessionMissing)) {
			err = r.lost(l, err)
		}
		r.client.release(l, broken)
		switch {
		case err == nil:
			return resultOf(answer), nil
		case ctx.Err() != nil:
			return selvage.ToolResult{}, ctx.Err()
		case first && errors.Is(err, sdk.ErrSessionMissing):
			// The server has forgotten the connection and refused the call
			// unread, so that it may be sent again over a new one.
		default:
			return selvage.ToolResult{}, r.explain(err)
		}
	}
}

// lostError is that the connection ended under a call.
type lostError struct{ text string }

func (e *lostError) Error() string { return e.text }

// lost tells what is known of a connection that broke.
func (r *remote) lost(l *link, err error) error {
	how := l.lastly()
	if how == "" {
		how = cause(err).Error()
	}
	text := fmt.Sprintf("the MCP server %s ended under the call (%s)", r.client.server.Name, how)
	if r.spec.Effect != selvage.EffectNone {
		text += "; whether it took effect is unknown"
	}
	return &lostError{text + ". The next call connects to it again."}
}

// explain words an error for the model and for people.
func (r *remote) explain(err error) error {
	var lost *lostError
	var refused *jsonrpc.Error
	switch {
	case errors.As(err, &lost):
		return lost
	case r.client.over.Err() != nil:
		return fmt.Errorf("the connection to the MCP server %s was closed under the call: %w", r.client.server.Name, selvage.ErrClosed)
	case errors.As(err, &refused):
		return fmt.Errorf("the MCP server %s refused the call: %s (code %d)", r.client.server.Name, refused.Message, refused.Code)
	}
	return fmt.Errorf("the MCP server %s: %w", r.client.server.Name, cause(err))
}

// send sends one call and waits for the answer.
func (c *Client) send(ctx context.Context, l *link, name string, call *tool.Call) (*sdk.CallToolResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.over, cancel)()
	params := &sdk.CallToolParams{Name: name, Arguments: json.RawMessage("{}"), Meta: sdk.Meta{}}
	if len(bytes.TrimSpace(call.Arguments)) > 0 {
		params.Arguments = call.Arguments
	}
	if call.IdempotencyKey != "" {
		params.Meta[IdempotencyKey] = call.IdempotencyKey
	}
	token := "p" + strconv.FormatInt(c.tokens.Add(1), 10)
	params.SetProgressToken(token)
	c.reports.Store(token, call.Progress)
	defer c.reports.Delete(token)
	return l.session.CallTool(ctx, params)
}

// progress hands what a server reports to the call it is about.
func (c *Client) progress(p *sdk.ProgressNotificationParams) {
	report, ok := c.reports.Load(p.ProgressToken)
	if !ok {
		return
	}
	text := strings.ToValidUTF8(p.Message[:min(len(p.Message), 1<<10)], "")
	of := ""
	switch {
	case p.Total > 0:
		of = fmt.Sprintf("%g/%g", p.Progress, p.Total)
	case text == "":
		of = fmt.Sprintf("%g", p.Progress)
	}
	report.(func(string))(strings.TrimSpace(of + " " + text))
}
