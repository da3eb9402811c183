package cli

import (
	"encoding/json"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
)

// teller shows a run while it goes on. Deltas are shown only on a terminal: a
// request that is repeated says again what was said, and a script wants each
// reply once and only after it is recorded.
type teller struct {
	*app
	live   bool   // deltas go to stdout
	open   bool   // stdout stands in the middle of a line
	spoken spoken // on stdout, of the answer that is coming
}

func newTeller(a *app) *teller {
	return &teller{app: a, live: a.out.terminal && a.format() == formatTable}
}

func (t *teller) event(e *runner.Event) {
	switch e.Kind {
	case runner.EventDelta:
		if t.live {
			t.show(t.spoken.hear(e.Text))
		}
	case runner.EventRetry:
		t.aside("trying again: %s", e.Note)
		t.spoken.restart()
	case runner.EventContinue:
		if !t.open { // what comes next may belong to the same word
			t.aside("going on: %s", e.Note)
		}
	case runner.EventQueued:
		t.aside("thread %s is in use by %s; waiting for it", e.ThreadID, e.Note)
	case runner.EventCall:
		if t.live {
			t.aside("calls %s %s", e.Call.Name, compact(e.Call.Arguments))
		}
	case runner.EventProgress:
		if t.live {
			t.aside("%s", e.Note)
		}
	case selvage.EventMessage:
		if e.Message.Role == selvage.RoleAssistant && t.live {
			t.show(t.spoken.end())
		}
		t.breakLine()
	case selvage.EventRun:
		switch {
		case e.Run.ID == e.RunID || e.Run.Outcome == nil:
		case e.Run.Outcome.Code == runner.CodeSuperseded:
			t.aside("run %s waited, and is ended by this message: %s", e.Run.ID, e.Run.Outcome.Code)
		default:
			t.aside("run %s was interrupted and is ended: %s", e.Run.ID, e.Run.Outcome.Detail)
		}
	}
}

// show shows what an answer goes on with, or all of it anew.
func (t *teller) show(text string, anew bool) {
	if anew {
		t.aside("the answer is another this time:")
	}
	if text != "" {
		t.out.text(text)
		t.open = !strings.HasSuffix(text, "\n")
	}
}

// aside tells something on stderr, on a line of its own.
func (t *teller) aside(format string, args ...any) {
	t.breakLine()
	t.note(format, args...)
}

// breakLine ends a line of stdout that was begun.
func (t *teller) breakLine() {
	if t.open {
		t.out.line("")
		t.open = false
	}
}

// replyDocument is what came of a turn, in JSON.
type replyDocument struct {
	ThreadID selvage.ThreadID  `json:"thread_id,omitempty"`
	RunID    selvage.RunID     `json:"run_id"`
	Version  selvage.Version   `json:"version,omitempty"`
	Model    string            `json:"model"`
	Status   selvage.RunStatus `json:"status"`            // done or waiting
	Outcome  *selvage.Outcome  `json:"outcome,omitempty"` // of a run that is done
	Waiting  *selvage.Waiting  `json:"waiting,omitempty"` // what a run waits for
	Text     string            `json:"text"`
	Usage    selvage.Usage     `json:"usage"`
	Cost     selvage.Money     `json:"cost"`
	Steps    int               `json:"steps"`
}

// reply shows what came of a turn that is over, or waits.
func (c *conversation) reply(r *runner.Result) {
	stopped := r.Outcome.Kind == selvage.OutcomeStopped // by what, the failure says
	if r.Outcome.Code != "" && !stopped {
		// Told even with --quiet: a script must not take a part for the whole.
		defer c.tell("%s (%s)", r.Outcome.Detail, r.Outcome.Code)
	}
	if c.format() == formatTable {
		if !c.show.live && r.Waiting == nil && (r.Text != "" || !stopped) {
			c.out.text(r.Text)
			c.out.line("")
		}
		return
	}
	doc := &replyDocument{RunID: r.RunID, Model: c.made.model, Status: selvage.RunDone, Outcome: &r.Outcome, Waiting: r.Waiting, Text: r.Text, Usage: r.Usage, Cost: r.Cost, Steps: r.Steps}
	if r.Waiting != nil {
		doc.Status, doc.Outcome = selvage.RunWaiting, nil
	}
	if c.store != nil {
		doc.ThreadID, doc.Version = r.ThreadID, r.Version
	}
	if c.format() == formatJSON {
		c.out.json(doc)
		return
	}
	c.out.jsonLine(doc)
}

// compact writes arguments on one line of bearable length.
func compact(arguments json.RawMessage) string {
	const most = 120
	text := []rune(oneLine(string(arguments)))
	if len(text) > most {
		return string(text[:most]) + "..."
	}
	return string(text)
}
