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
	p := &Proof{}
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(p); err != nil {
		return nil, &selvage.InvalidError{Field: "proof", Reason: err.Error()}
	}
	switch {
	case d.More():
		return nil, &selvage.InvalidError{Field: "proof", Reason: "there is more after the proof"}
	case p.Selvage != kindProof:
		return nil, &selvage.InvalidError{Field: "proof", Reason: `it is not a proof; "selvage" would say so`}
	case p.Format != ProofFormat:
		return nil, fmt.Errorf("the proof has format %d and this program knows %d; use a newer one: %w", p.Format, ProofFormat, selvage.ErrUnsupported)
	}
	return p, p.compact()
}

// compact takes white space out of what was appended, none of which was there:
// the proof may have been indented for people.
func (p *Proof) compact() error {
	for i := range p.Changes {
		c := &p.Changes[i]
		parts := []*json.RawMessage{&c.Rest, &c.Base}
		for j := range c.Messages {
			parts = append(parts, &c.Messages[j])
		}
		for _, part := range parts {
			if len(*part) == 0 {
				continue
			}
			var b bytes.Buffer
			if err := json.Compact(&b, *part); err != nil {
				return &selvage.InvalidError{Field: "proof", Reason: err.Error()}
			}
			*part = b.Bytes()
		}
	}
	return nil
}

// Verify proves that every change holds what was appended and follows from the
// one before it, up to Hash, and that every message of the transcript is what
// they say. The error matches [selvage.ErrCorrupt] and names the version.
func (p *Proof) Verify() error {
	var last selvage.Change
	said := make(map[int64]selvage.Message)
	for n := range p.Changes {
		c := &p.Changes[n]
		if err := follows(&last, c, n); err != nil {
			return err
		}
		added, err := c.AddedMessages()
		if err != nil {
			return err
		}
		for _, m := range added {
			said[m.Seq] = m
		}
		last = *c
	}
	if last.Version != p.Version || last.Hash != p.Hash {
		return &selvage.CorruptError{Thread: p.ID, Version: last.Version, Reason: fmt.Sprintf("the proof ends here, and says it goes to version %d", p.Version)}
	}
	before := int64(0)
	for i := range p.Messages {
		if err := p.isSaid(&p.Messages[i], said, before); err != nil {
			return err
		}
		before = p.Messages[i].Seq
	}
	return nil
}

// isSaid proves one message of the transcript.
func (p *Proof) isSaid(m *selvage.Message, said map[int64]selvage.Message, before int64) error {
	want, ok := said[m.Seq]
	got, errGot := json.Marshal(m)
	should, errWant := json.Marshal(&want)
	if !ok || errGot != nil || errWant != nil || m.Seq <= before || !bytes.Equal(got, should) {
		return &selvage.CorruptError{Thread: p.ID, Version: p.Version, Reason: fmt.Sprintf("message %d of the transcript is not what the log says", m.Seq)}
	}
	return nil
}
