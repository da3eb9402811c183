package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
)

// watchDocument is what was told, in one JSON document.
type watchDocument struct {
	Items []any  `json:"items"`
	Next  string `json:"next"` // position to go on after
}

// feedDocument is a change of any thread in JSON: its header and its events.
type feedDocument struct {
	Position selvage.FeedPosition `json:"position"`
	Tenant   string               `json:"tenant,omitempty"`
	ThreadID selvage.ThreadID     `json:"thread_id"`
	Version  selvage.Version      `json:"version"`
	ID       string               `json:"id"`
	Reason   selvage.Reason       `json:"reason"`
	RunID    selvage.RunID        `json:"run_id,omitempty"`
	At       time.Time            `json:"at"`
	Hash     selvage.Hash         `json:"hash"`
	Events   []selvage.Event      `json:"events"`
}

// event prints an event of a thread.
func (w *watching) event(e *selvage.Event) {
	w.print(e.Position.String(), e, func() {
		w.out.line("%s  %s  %s  %s", pad(e.Position.String(), 7), w.out.style.dim(moment(e.At)), w.out.style.bold(pad(string(e.Kind), 9)), summary(e))
	})
}

// change prints a change of any thread.
func (w *watching) change(item *selvage.FeedItem) error {
	events, err := item.Change.Events()
	if err != nil {
		return err
	}
	c := &item.Change
	doc := &feedDocument{Position: item.Position, Tenant: item.Tenant, ThreadID: c.ThreadID, Version: c.Version, ID: c.ID,
		Reason: c.Reason, RunID: c.RunID, At: c.At, Hash: c.Hash, Events: events}
	w.print(item.Position.String(), doc, func() {
		name := string(c.ThreadID)
		if item.Tenant != "" {
			name = item.Tenant + "/" + name
		}
		w.out.line("%s  %s %s  %s", w.out.style.dim(moment(c.At)), w.out.style.bold(oneLine(name)), c.Version, c.Reason)
		for i := range events {
			w.out.line("      %s  %s", pad(string(events[i].Kind), 9), summary(&events[i]))
		}
	})
	return nil
}

// print prints one thing as the flags want it.
func (w *watching) print(id string, doc any, prose func()) {
	switch {
	case w.flags.quiet:
		w.out.line("%s", id)
	case w.format() == formatLines:
		w.out.jsonLine(doc)
	case w.format() == formatJSON:
		w.items = append(w.items, doc)
	default:
		prose()
	}
}

// summaryLength is how much of an event people are shown, in characters.
const summaryLength = 100

// summary says in one line what an event is about.
func summary(e *selvage.Event) string {
	var p struct {
		selvage.Message
		Status  string `json:"status"`
		Name    string `json:"name"`
		CallID  string `json:"call_id"`
		Deleted bool   `json:"deleted"`
	}
	text := string(e.Payload)
	if json.Unmarshal(e.Payload, &p) == nil {
		switch {
		case e.Kind == selvage.EventMessage:
			text = fmt.Sprintf("%s: %s", p.Role, describe(&p.Message))
		case e.Kind == selvage.EventRun:
			text = fmt.Sprintf("%s %s", p.ID, p.Status)
		case e.Kind == selvage.EventToolCall:
			text = strings.TrimSpace(fmt.Sprintf("%s %s %s", p.Name, p.CallID, p.Status))
		case e.Kind == selvage.EventThread && p.Deleted:
			text = "deleted"
		}
	}
	if runes := []rune(oneLine(text)); len(runes) > summaryLength {
		return string(runes[:summaryLength-1]) + "…"
	}
	return oneLine(text)
}
