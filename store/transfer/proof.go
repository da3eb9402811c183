package transfer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/selvagehq/selvage"
)

// ProofFormat is the version of [Proof].
const ProofFormat = 1

const kindProof = "proof"

// Proof is the transcript of a thread with all that is needed to verify it
// elsewhere, without the store: whoever was told Hash can tell that nothing in
// it was changed, added or left out. Of what was erased it proves that it was
// there, and what is left of it cannot be guessed from.
type Proof struct {
	Selvage string           `json:"selvage"` // "proof"
	Format  int              `json:"format"`
	ID      selvage.ThreadID `json:"id"`
	Version selvage.Version  `json:"version"` // of the last change
	Hash    selvage.Hash     `json:"hash"`    // of the last change
	// Messages are the transcript: what was visible at Version, internal
	// messages included.
	Messages []selvage.Message `json:"messages"`
	// Changes are the log that the transcript follows from.
	Changes []selvage.Change `json:"changes"`
}

// NewProof reads the proof of a thread as it is now.
func NewProof(ctx context.Context, from selvage.Store, id selvage.ThreadID) (*Proof, error) {
	head, err := load(ctx, from, id)
	if err != nil {
		return nil, err
	}
	p := &Proof{Selvage: kindProof, Format: ProofFormat, ID: id, Version: head.Thread.Version, Hash: head.Hash, Messages: []selvage.Message{}}
	for c, err := range Changes(ctx, from, id, 0, p.Version) {
		if err != nil {
			return nil, err
		}
		p.Changes = append(p.Changes, c)
	}
	limit := selvage.MaxPage
	for q := (selvage.MessageQuery{At: p.Version, Visibility: selvage.ShowAll, Limit: &limit}); ; {
		page, err := from.Messages(ctx, id, q)
		if err != nil {
			return nil, err
		}
		p.Messages = append(p.Messages, page.Items...)
		if q.Cursor = page.Next; q.Cursor == "" {
			return p, nil
		}
	}
}

// ReadProof reads a proof, strictly, and does not verify it. The error matches
// [selvage.ErrInvalid] if r holds none, and [selvage.ErrUnsupported] if a newer
// program wrote it.
func ReadProof(r io.Reader) (*Proof, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	// The digests are over bytes without white space; how the file is laid out
	// for people is not part of what was appended.
	var packed bytes.Buffer
	p := &Proof{}
	if err := json.Compact(&packed, data); err != nil {
		return nil, &selvage.InvalidError{Field: "proof", Reason: err.Error()}
	}
	if err := json.Unmarshal(packed.Bytes(), p); err != nil {
		return nil, &selvage.InvalidError{Field: "proof", Reason: err.Error()}
	}
	switch {
	case p.Selvage != kindProof:
		return nil, &selvage.InvalidError{Field: "proof", Reason: `it is not a proof; "selvage" would say so`}
	case p.Format != ProofFormat:
		return nil, fmt.Errorf("the proof has format %d and this program knows %d; use a newer one: %w", p.Format, ProofFormat, selvage.ErrUnsupported)
	}
	return p, nil
}

// Verify proves that every change holds what was appended and follows from the
// one before it, up to Hash, that what was erased is told of, and that the
// transcript is what they add up to: every message that could be seen at
// Version, and no other. The error matches [selvage.ErrCorrupt] and names the
// version.
func (p *Proof) Verify() error {
	var last selvage.Change
	for n := range p.Changes {
		c := &p.Changes[n]
		if c.ThreadID != p.ID {
			return p.wrong(c.Version, "it is of thread %q", c.ThreadID)
		}
		if err := follows(&last, c, n); err != nil {
			return err
		}
		last = *c
	}
	if last.Version != p.Version || last.Hash != p.Hash {
		return p.wrong(last.Version, "the proof ends here, and says it goes to version %d", p.Version)
	}
	if err := p.tellsErased(); err != nil {
		return err
	}
	return p.isTranscript()
}

// tellsErased proves that the log tells of every message that it has lost.
func (p *Proof) tellsErased() error {
	type part struct {
		version selvage.Version
		index   int
	}
	told := make(map[part]bool)
	for n := range p.Changes {
		all, err := p.Changes[n].Erasures()
		if err != nil {
			return err
		}
		for _, e := range all {
			i := int(e.Version - p.Changes[0].Version)
			if i < 0 || i >= n {
				return p.wrong(p.Changes[n].Version, "it tells of an erased message of version %d, which is not before it", e.Version)
			}
			if err := p.Changes[i].CheckErased(&e); err != nil {
				return err
			}
			told[part{e.Version, e.Index}] = true
		}
	}
	for n := range p.Changes {
		for _, i := range p.Changes[n].Erased() {
			if v := p.Changes[n].Version; !told[part{v, i}] {
				return p.wrong(v, "message %d is missing, and nothing tells that it was erased", i)
			}
		}
	}
	return nil
}

// isTranscript proves that Messages are what could be seen at Version.
func (p *Proof) isTranscript() error {
	seen, err := p.lineage()
	if err != nil {
		return err
	}
	left := p.Messages
	for n := range p.Changes {
		if !seen[n] {
			continue
		}
		added, err := p.Changes[n].AddedMessages()
		if err != nil {
			return err
		}
		for i := range added {
			if len(left) == 0 || !sameMessage(&left[0], &added[i]) {
				return p.wrong(p.Changes[n].Version, "message %d of the transcript is not what the log says", added[i].Seq)
			}
			left = left[1:]
		}
	}
	if len(left) > 0 {
		return p.wrong(p.Version, "message %d of the transcript could not be seen", left[0].Seq)
	}
	return nil
}

// lineage tells which of the changes lead to the last one, and were not left
// behind by a rewind.
func (p *Proof) lineage() ([]bool, error) {
	seen := make([]bool, len(p.Changes))
	for n := len(p.Changes) - 1; n >= 0; n-- {
		seen[n] = true
		set, err := p.Changes[n].Set()
		if err != nil {
			return nil, err
		}
		if set.Rewind == nil {
			continue
		}
		to := int(*set.Rewind - p.Changes[0].Version)
		if to < 0 || to >= n {
			return nil, p.wrong(p.Changes[n].Version, "it goes back to version %d, which is not before it", *set.Rewind)
		}
		n = to + 1
	}
	return seen, nil
}

func sameMessage(a, b *selvage.Message) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

func (p *Proof) wrong(v selvage.Version, format string, args ...any) error {
	return &selvage.CorruptError{Thread: p.ID, Version: v, Reason: fmt.Sprintf(format, args...)}
}
