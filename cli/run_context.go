package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
)

// contextDocument is what a model was given for an answer, in JSON.
type contextDocument struct {
	RunID    selvage.RunID     `json:"run_id"`
	ThreadID selvage.ThreadID  `json:"thread_id"`
	Step     int               `json:"step"`
	Model    string            `json:"model"`
	System   string            `json:"system,omitempty"`
	Tools    []string          `json:"tools"`
	Messages []selvage.Message `json:"messages"`
	Summary  string            `json:"summary,omitempty"`
	Count    int               `json:"count"`
	FromSeq  int64             `json:"from_seq"`
	ToSeq    int64             `json:"to_seq"`
	Dropped  int64             `json:"dropped"`
	Tokens   int64             `json:"tokens"`
	Used     int64             `json:"used,omitempty"`
}

// showContext shows what the model was given for the answer of a step; nil is
// the last one.
func (a *app) showContext(ctx context.Context, store selvage.Store, run *selvage.Run, step *int) error {
	n := run.Steps
	if step != nil {
		n = *step
	}
	if n < 1 || n > run.Steps {
		f := &failure{exit: exitNotFound, class: "not_found", err: fmt.Errorf("run %s has no answer %d", run.ID, n), details: runFacts(run)}
		if f.hint = fmt.Sprintf("it has %d", run.Steps); run.Steps == 0 {
			f.err, f.hint = fmt.Errorf("run %s has no answer yet", run.ID), ""
		}
		return f
	}
	sent, err := runner.ContextOf(ctx, store, run.ID, n)
	if errors.Is(err, selvage.ErrNotFound) {
		return hinted(err, "answers that were recorded by an older program do not say what they were given")
	}
	if err != nil {
		return err
	}
	doc := &contextDocument{RunID: run.ID, ThreadID: run.ThreadID, Step: n, Model: sent.Model, System: sent.System,
		Tools: append([]string{}, sent.Tools...), Messages: append([]selvage.Message{}, sent.Messages...), Summary: sent.Summary, Count: sent.Count,
		FromSeq: sent.FromSeq, ToSeq: sent.ToSeq, Dropped: sent.Dropped, Tokens: sent.Tokens, Used: sent.Used}
	return a.show(doc, func() {
		if a.flags.quiet {
			for i := range doc.Messages {
				a.out.line("%s", doc.Messages[i].ID)
			}
			return
		}
		a.printContext(doc)
	})
}

func (a *app) printContext(d *contextDocument) {
	used := ""
	if d.Used > 0 {
		used = strconv.FormatInt(d.Used, 10)
	}
	dropped := ""
	if d.Dropped > 0 {
		dropped = strconv.FormatInt(d.Dropped, 10)
	}
	a.fields([][2]string{
		{"run", string(d.RunID)}, {"turn", strconv.Itoa(d.Step)}, {"model", d.Model}, {"tools", strings.Join(d.Tools, ", ")},
		{"messages", fmt.Sprintf("%d, from seq %d to %d", d.Count, d.FromSeq, d.ToSeq)}, {"summary", d.Summary}, {"left out", dropped},
		{"tokens", fmt.Sprintf("about %d", d.Tokens)}, {"as counted", used},
	})
	a.out.line("")
	if d.System != "" {
		a.out.line("%s", a.out.style.bold("system prompt"))
		a.out.line("%s", indent(clean(d.System), 6))
	}
	for i := range d.Messages {
		a.printMessage(&d.Messages[i])
	}
}
