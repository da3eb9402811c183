package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/selvagehq/selvage"
)

// partialDocument is an answer that is coming or was interrupted, in JSON.
type partialDocument struct {
	Turn      int                  `json:"turn"`
	Attempt   int                  `json:"attempt,omitempty"`
	Model     string               `json:"model,omitempty"`
	Text      string               `json:"text"`
	Reasoning string               `json:"reasoning,omitempty"`
	Calls     []selvage.ToolCall   `json:"calls,omitempty"`
	InFlight  *selvage.PartialCall `json:"in_flight,omitempty"`
	Usage     selvage.Usage        `json:"usage"`
	Cost      selvage.Money        `json:"cost"`
	At        string               `json:"at"`
}

// partialOf finds what is kept of an answer that the run is in the middle of,
// or was when it ended; nil if there is none.
func partialOf(ctx context.Context, store selvage.Store, run *selvage.Run) (*partialDocument, error) {
	streams, ok := selvage.As[selvage.StreamCheckpoints](store)
	if !ok {
		return nil, nil
	}
	c, err := streams.Get(ctx, run.ThreadID, run.ID)
	switch {
	case errors.Is(err, selvage.ErrNotFound), errors.Is(err, selvage.ErrUnsupported):
		return nil, nil
	case err != nil:
		return nil, err
	case c.Step <= run.Steps:
		return nil, nil // of an answer that is recorded
	}
	return &partialDocument{Turn: c.Step, Attempt: c.Attempt, Model: c.Model, Text: c.Text, Reasoning: c.Reasoning, Calls: c.Calls,
		InFlight: c.InFlight, Usage: c.Usage, Cost: c.Cost, At: moment(c.UpdatedAt)}, nil
}

// printPartial shows what came of an answer that is not whole.
func (a *app) printPartial(p *partialDocument) {
	if p == nil {
		return
	}
	a.out.line("")
	a.out.line("%s %s  %s", a.out.style.bold(fmt.Sprintf("turn %d, not complete", p.Turn)),
		a.out.style.dim(fmt.Sprintf("%s, %d characters, about $%s", p.At, len([]rune(p.Text)), p.Cost)), cutTo(p.Text, 2*summaryLength))
}
