package transfer_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/inmem"
	"github.com/selvagehq/selvage/store/transfer"
)

// told makes a thread that was rewound and of which a message was erased.
func told(t *testing.T) selvage.Store {
	t.Helper()
	s := inmem.New(inmem.Options{})
	fill(t, s, 5, "a")
	fill(t, s, 5, "a")
	if _, err := s.Append(t.Context(), "a", selvage.ChangeSet{Rewind: new(selvage.Version(5))}, selvage.Any()); err != nil {
		t.Fatal(err)
	}
	fill(t, s, 2, "a")
	limit := 1
	page, err := s.Messages(t.Context(), "a", selvage.MessageQuery{Limit: &limit})
	if err != nil {
		t.Fatal(err)
	}
	eraser, _ := selvage.As[selvage.Eraser](s)
	if _, err := eraser.Erase(t.Context(), "a", selvage.EraseRequest{Messages: []string{page.Items[0].ID}}); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestProofTranscript proves a transcript, and finds whatever is changed in it.
func TestProofTranscript(t *testing.T) {
	t.Parallel()
	s := told(t)
	p, err := transfer.NewProof(t.Context(), s, "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Verify(); err != nil || len(p.Messages) != 7 {
		t.Errorf("%d messages: %v", len(p.Messages), err)
	}
	hidden, err := p.Changes[7].AddedMessages()
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(p *transfer.Proof){
		"a message less":       func(p *transfer.Proof) { p.Messages = slices.Delete(p.Messages, 2, 3) },
		"the last one less":    func(p *transfer.Proof) { p.Messages = p.Messages[:6] },
		"a hidden one":         func(p *transfer.Proof) { p.Messages = slices.Insert(p.Messages, 5, hidden[0]) },
		"one twice":            func(p *transfer.Proof) { p.Messages = append(p.Messages, p.Messages[6]) },
		"another word":         func(p *transfer.Proof) { p.Messages[3].Content[0].Text = "no" },
		"another thread":       func(p *transfer.Proof) { p.ID = "b" },
		"a change less":        func(p *transfer.Proof) { p.Changes = slices.Delete(p.Changes, 4, 5) },
		"the last change less": func(p *transfer.Proof) { p.Changes = p.Changes[:len(p.Changes)-1] },
		"another hash":         func(p *transfer.Proof) { p.Hash[0]++ },
		"another skeleton": func(p *transfer.Proof) {
			p.Changes[0].Messages[0] = bytes.Replace(p.Changes[0].Messages[0], []byte("user"), []byte("tool"), 1)
			p.Messages[0].Role = selvage.RoleTool
		},
		"an erasure that nobody tells of": func(p *transfer.Proof) {
			c := &p.Changes[1]
			id := p.Messages[1].ID
			if _, err := c.EraseByID(map[string]bool{id: true}); err != nil {
				t.Error(err)
			}
			left, err := c.AddedMessages()
			if err != nil {
				t.Error(err)
			}
			p.Messages[1] = left[0]
		},
	} {
		bad, err := transfer.NewProof(t.Context(), s, "a")
		if err != nil {
			t.Fatal(err)
		}
		damage(bad)
		if err := bad.Verify(); !errors.Is(err, selvage.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
}
