package inmem

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/selvagehq/selvage"
)

// reread returns v as it is after having been JSON: the same form that a store
// of bytes answers, sharing nothing with v. What is stored went through the
// encoder once already, so it does not fail.
func reread[T any](v T) (T, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	var out T
	if err := e.Encode(&v); err != nil {
		return out, fmt.Errorf("encode %T: %w", v, err)
	}
	if err := json.Unmarshal(buf.Bytes(), &out); err != nil {
		return out, fmt.Errorf("decode %T: %w", v, err)
	}
	return out, nil
}

// The clones below share nothing with the original that may be modified.
// Raw JSON is read-only to everybody and is shared.

func cloneThread(t selvage.Thread) selvage.Thread {
	t.Metadata = maps.Clone(t.Metadata)
	t.ForkedFrom = clonePointer(t.ForkedFrom)
	return t
}

func cloneMessage(m selvage.Message) selvage.Message {
	m.Content = slices.Clone(m.Content)
	for i := range m.Content {
		m.Content[i].Data = slices.Clone(m.Content[i].Data)
	}
	m.ToolCalls = slices.Clone(m.ToolCalls)
	m.Metadata = maps.Clone(m.Metadata)
	return m
}

func cloneMessages(in []selvage.Message) []selvage.Message {
	out := make([]selvage.Message, len(in))
	for i := range in {
		out[i] = cloneMessage(in[i])
	}
	return out
}

func cloneChange(c *selvage.Change) selvage.Change {
	out := *c
	out.Dropped = slices.Clone(c.Dropped)
	out.Salt = slices.Clone(c.Salt)
	out.Parts = slices.Clone(c.Parts)
	out.Messages = slices.Clone(c.Messages)
	return out
}

func cloneRun(r selvage.Run) selvage.Run {
	r.Outcome = clonePointer(r.Outcome)
	if r.Waiting = clonePointer(r.Waiting); r.Waiting != nil {
		r.Waiting.Tickets, r.Waiting.Until = slices.Clone(r.Waiting.Tickets), clonePointer(r.Waiting.Until)
	}
	if r.Spec != nil {
		spec := r.Spec.Clone()
		r.Spec = &spec
	}
	if r.Limits != nil {
		limits := r.Limits.Clone()
		r.Limits = &limits
	}
	return r
}

func cloneLease(l selvage.Lease) selvage.Lease {
	l.Took = clonePointer(l.Took)
	return l
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
