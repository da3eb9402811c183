package cli

import (
	"context"
	"crypto/sha256"
	"errors"

	"github.com/selvagehq/selvage"
)

// part is a message of the log by where it was submitted.
type part struct {
	version selvage.Version
	index   int
}

// erasures are the messages that a log has lost, and which of them it tells of.
type erasures struct {
	lost map[part]selvage.ErasedMessage
	told map[part]bool
}

// take takes in a change of the log, in order.
func (e *erasures) take(c *selvage.Change) error {
	for _, i := range c.Erased() {
		if e.lost == nil {
			e.lost, e.told = make(map[part]selvage.ErasedMessage), make(map[part]bool)
		}
		e.lost[part{c.Version, i}] = selvage.ErasedMessage{Version: c.Version, Index: i, Digest: c.Parts[i].Digest,
			Left: sha256.Sum256(c.Messages[i])}
	}
	return e.hear(c)
}

// hear takes in what a change tells of messages that were erased.
func (e *erasures) hear(c *selvage.Change) error {
	told, err := c.Erasures()
	if err != nil {
		return err
	}
	wrong := func(v selvage.Version, why string) error {
		return &selvage.CorruptError{Thread: c.ThreadID, Version: v, Reason: why}
	}
	for _, m := range told {
		at := part{m.Version, m.Index}
		lost, gone := e.lost[at]
		switch {
		case !gone:
			return wrong(m.Version, "a message is said to have been erased and was not")
		case lost.Digest != m.Digest:
			return wrong(m.Version, "the digest of an erased message is not the one that was left")
		case lost.Left != m.Left:
			return wrong(m.Version, "what is left of an erased message is not what was left")
		}
		e.told[at] = true
	}
	return nil
}

// untold returns the version of a message that is missing and of which nothing
// tells, or 0.
func (e *erasures) untold() (v selvage.Version) {
	for at := range e.lost {
		if !e.told[at] && (v == 0 || at.version < v) {
			v = at.version
		}
	}
	return v
}

// settle proves that the log tells of every message it has lost. What was
// erased since the proof began is told of after its end.
func (p *proof) settle(ctx context.Context, store selvage.Store) error {
	for p.erased.untold() != 0 {
		limit := selvage.MaxPage
		page, err := store.Changes(ctx, p.id, selvage.ChangeQuery{After: p.heard(), Limit: &limit})
		if err != nil {
			return err
		}
		if len(page.Items) == 0 {
			return p.at(0, p.wrong(p.erased.untold(), "a message is missing, and nothing tells that it was erased"))
		}
		for i := range page.Items {
			if err := p.erased.hear(&page.Items[i]); err != nil {
				return p.at(0, err)
			}
			p.beyond = page.Items[i].Version
		}
	}
	return nil
}

// heard is the last version that was asked for erasures.
func (p *proof) heard() selvage.Version { return max(p.version, p.beyond) }

// disturbed reports whether something was erased since a proof began that
// found damage, which then may be that.
func disturbed(ctx context.Context, store selvage.Store, id selvage.ThreadID, since selvage.Version, err error) bool {
	if !errors.Is(err, selvage.ErrCorrupt) || since == 0 {
		return false
	}
	for change, err := range changesAfter(ctx, store, id, since) {
		if err != nil {
			return false
		}
		if change.Reason == selvage.ReasonErased {
			return true
		}
	}
	return false
}
