package sqlite

import (
	"context"
	"fmt"
	"slices"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// Load implements [selvage.Store].
func (s *Store) Load(ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error) {
	var out selvage.Head
	err := s.read(ctx, func(c *conn) (err error) {
		out, err = s.load(ctx, c, id, opts)
		return err
	})
	if err != nil {
		return selvage.Head{}, fmt.Errorf("load thread %q: %w", id, err)
	}
	return out, nil
}

func (s *Store) load(ctx context.Context, c *conn, id selvage.ThreadID, opts selvage.LoadOptions) (out selvage.Head, err error) {
	window := selvage.DefaultWindow
	if opts.Messages != nil {
		if window = *opts.Messages; window < 0 {
			return out, &selvage.InvalidError{Field: "messages", Reason: "the number of messages may not be negative"}
		}
	}
	h, err := readHead(c, s.tenant, id)
	if err == nil {
		err = h.readable()
	}
	if err != nil {
		return out, err
	}
	out = selvage.Head{Thread: h.Thread, Hash: h.Hash, NextSeq: h.NextSeq, OpenRun: h.OpenRun, OpenCalls: h.OpenCalls}
	if err := h.known(h.Thread.Version); err != nil {
		return out, err
	}
	if out.State, err = s.headDoc(ctx, c, &h); err != nil {
		return out, err
	}
	if out.Messages, err = h.lastMessages(ctx, c, window); err != nil {
		return out, err
	}
	if out.OpenRun != nil {
		if out.OpenRun, err = readRun(c, s.tenant, h.OpenRun.ID); err != nil {
			return out, err
		}
	}
	out.Lease, err = h.holder(s.opts.Now())
	return out, err
}

// lastMessages reads the last n messages, oldest first. It proves the changes
// it came by, and that the head follows from the last of all.
func (h *head) lastMessages(ctx context.Context, c *conn, n int) ([]selvage.Message, error) {
	messages := []selvage.Message{}
	if n == 0 || h.NextSeq <= 1 {
		return messages, nil
	}
	seen, err := h.visible(c, h.Thread.Version, h.NextSeq)
	if err != nil {
		return nil, err
	}
	proven := false
	for _, s := range slices.Backward(commit.Window(seen, int64(n))) {
		start := h.pos
		if s.To < h.Thread.Version {
			if start, err = h.locateSeq(ctx, c, s, s.Last); err != nil {
				return nil, err
			}
		}
		err := h.said(ctx, c, s, start, func(ch *change, m selvage.Message) error {
			messages = append(messages, m)
			return nil
		})
		if err != nil {
			return nil, err
		}
		proven = proven || start == h.pos
	}
	slices.Reverse(messages)
	if proven {
		return messages, nil
	}
	// The thread was just rewound: nothing led by its last change.
	last, err := readChange(c, h, h.pos)
	if err == nil {
		err = h.follows(last)
	}
	return messages, err
}

// follows checks that the head follows from the last change.
func (h *head) follows(ch *change) error {
	switch {
	case ch.LastSeq()+1 != h.NextSeq:
		return corrupt(h.Thread.ID, ch.Version, "its last message has seq %d, and the next one will have %d", ch.LastSeq(), h.NextSeq)
	case ch.Version != h.Thread.Version || ch.Hash != h.Hash:
		return corrupt(h.Thread.ID, ch.Version, "the head has another version or hash")
	default:
		return nil
	}
}
