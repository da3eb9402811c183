package selvagetest

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/tool"
)

// doomedStore passes a place before and after each append.
type doomedStore struct {
	selvage.Store
	life *Life
}

// Unwrap lets the capabilities of the store be found.
func (s *doomedStore) Unwrap() selvage.Store { return s.Store }

// Capability offers nothing itself.
func (s *doomedStore) Capability(any) bool { return false }

func (s *doomedStore) Append(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
	s.life.at("before the commit of " + string(set.Reason))
	receipt, err := s.Store.Append(ctx, id, set, pre)
	s.life.at("after the commit of " + string(set.Reason))
	return receipt, err
}

// witnessed is a tool whose executions are written down, and which passes a
// place before and after each of them.
type witnessed struct {
	tool.Tool
	life *Life
}

// execution is a line of the witness: a tool begins to run, or has run.
type execution struct {
	Key    string              `json:"key"`
	Tool   string              `json:"tool"`
	Effect selvage.Effect      `json:"effect"`
	Result *selvage.ToolResult `json:"result,omitempty"` // nil when it begins
	Failed string              `json:"failed,omitempty"` // the error it returned
}

// Run implements [tool.Tool].
func (w *witnessed) Run(ctx context.Context, c *tool.Call) (selvage.ToolResult, error) {
	spec := w.Spec()
	w.life.at("before " + spec.Name + " runs")
	e := execution{Key: c.IdempotencyKey, Tool: spec.Name, Effect: spec.Effect}
	if err := w.write(e); err != nil {
		return selvage.ToolResult{}, err
	}
	result, err := w.Tool.Run(ctx, c)
	e.Result = &result
	if err != nil {
		e.Failed = err.Error()
	}
	if err := w.write(e); err != nil {
		return selvage.ToolResult{}, err
	}
	w.life.at("after " + spec.Name + " ran")
	return result, err
}

// Gate implements [tool.Gated].
func (w *witnessed) Gate(ctx context.Context, c *tool.Call) error {
	g, ok := tool.As[tool.Gated](w.Tool)
	if !ok {
		return nil
	}
	return g.Gate(ctx, c)
}

// Probe implements [tool.Prober].
func (w *witnessed) Probe(ctx context.Context, c *tool.Call) (tool.Finding, selvage.ToolResult, error) {
	p, ok := tool.As[tool.Prober](w.Tool)
	if !ok {
		return tool.Unresolved, selvage.ToolResult{}, nil
	}
	return p.Probe(ctx, c)
}

func (w *witnessed) write(e execution) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return appendLine(filepath.Join(w.life.Dir, callsFile), string(line))
}
