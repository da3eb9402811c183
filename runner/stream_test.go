package runner_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// script is what the same input is given to every way of running.
var scripts = []string{"hi", oneCall, `call echo {"text":"a"} && echo {"text":"b"}`, "loop 3 echo {\"text\":\"x\"}", "call nothing {}",
	"fail transient 2", "fail cut 1", "fail cut", "fail quota", "fail permanent", "fail rate_limited", "tokens 7", "stream 0", "stream 60",
	"a text of more words than may be said at once", "sleep 3s"}

// trace is everything a run tells, but for ids, versions and times.
func trace(t *testing.T, events func(func(runner.Event, error) bool)) string {
	t.Helper()
	var b strings.Builder
	for e, err := range events {
		fmt.Fprintf(&b, "%s step %d durable %v text %q note %q", e.Kind, e.Step, e.Durable(), e.Text, e.Note)
		switch {
		case err != nil:
			var failed *runner.FailedError
			fmt.Fprintf(&b, " error of %T %v", err, errors.As(err, &failed))
		case e.Message != nil:
			fmt.Fprintf(&b, " %s", strings.TrimSpace(transcript([]selvage.Message{*e.Message})))
		case e.Run != nil:
			fmt.Fprintf(&b, " %s %v", e.Run.Status, e.Run.Outcome)
		case e.Result != nil:
			r := *e.Result
			fmt.Fprintf(&b, " %v %q usage %v cost %v steps %d version %d", r.Outcome, r.Text, r.Usage, r.Cost, r.Steps, r.Version)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Run, Stream, Ask and AskStream are one loop: the same steps in the same
// order, the same result.
func TestOneLoop(t *testing.T) {
	t.Parallel()
	for _, say := range scripts {
		t.Run(say, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				second := &other{name: "test/second", price: 7}
				second.scripted = &scripted{streams: each(4, text("I am "), tokens(2), failing(model.Cut))}
				second.streams = append(second.streams, second.streams...)
				second.streams = append(second.streams, second.streams...)
				r := newRunner(t, runner.Options{Store: newSpy(), Tools: []tool.Tool{echoTool("echo", selvage.EffectOnce)},
					Fallbacks: []model.Model{second}, MaxOutputTokens: 6})
				streamed := trace(t, r.Stream(t.Context(), "streamed", runner.Text(say)))
				asked := trace(t, r.AskStream(t.Context(), runner.Text(say)))
				if diff := cmp.Diff(streamed, asked); diff != "" {
					t.Errorf("a stream and an ask differ (-stream +ask):\n%s", diff)
				}
				ran, errRun := r.Run(t.Context(), "ran", runner.Text(say))
				answered, errAsk := r.Ask(t.Context(), runner.Text(say))
				ran.ThreadID, ran.RunID, answered.ThreadID, answered.RunID = "", "", "", ""
				if diff := cmp.Diff(ran, answered); diff != "" {
					t.Errorf("run and ask differ (-run +ask):\n%s", diff)
				}
				if want := fmt.Sprintf("%v %q usage %v", ran.Outcome, ran.Text, ran.Usage); !strings.Contains(streamed, want) {
					t.Errorf("the stream's result is not that of the run, %s:\n%s", want, streamed)
				}
				if (errRun == nil) != (errAsk == nil) || (errRun == nil) == strings.Contains(streamed, "error of") {
					t.Errorf("run says %v, ask %v, stream:\n%s", errRun, errAsk, streamed)
				}
			})
		})
	}
}

// Durable events are told after their commit, in its order and with the
// positions the store gives them; ephemeral ones have none.
func TestEventsAreThoseOfTheStore(t *testing.T) {
	t.Parallel()
	store := newSpy()
	r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{echoTool("echo", selvage.EffectOnce)},
		Hooks: []selvage.Hook{patching(selvage.MomentAfterTool)}})
	var got []string
	title := "a title"
	in := runner.Text(oneCall)
	in.Thread = &selvage.ThreadUpdate{Title: &title}
	for e, err := range r.Stream(t.Context(), "t", in) {
		if err != nil {
			t.Fatal(err)
		}
		if !e.Durable() {
			if e.Kind == selvage.EventMessage || e.Kind == selvage.EventRun || !e.At.IsZero() {
				t.Errorf("ephemeral %s has a time or should be durable", e.Kind)
			}
			continue
		}
		if v := load(t, store, "t").Thread.Version; e.Position.Version > v {
			t.Errorf("%s at %s told before its commit; the thread is at %d", e.Kind, e.Position, v)
		}
		line := fmt.Sprintf("%s %s %s", e.Position, e.Kind, e.At)
		if e.Message != nil {
			data, err := json.Marshal(e.Message)
			if err != nil {
				t.Fatal(err)
			}
			line += string(data)
		}
		got = append(got, line)
	}
	var want []string
	for _, c := range verify(t, store, "t") {
		events, err := c.Events()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			line := fmt.Sprintf("%s %s %s", e.Position, e.Kind, e.At)
			if e.Kind == selvage.EventMessage {
				line += string(e.Payload)
			}
			want = append(want, line)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-store +stream):\n%s", diff)
	}
}

// The deltas of a message name the id it is recorded with.
func TestDeltasNameTheirMessage(t *testing.T) {
	t.Parallel()
	r := newRunner(t, runner.Options{Store: newSpy()})
	id, text := "", ""
	for e, err := range r.Stream(t.Context(), "t", runner.Text("one two three")) {
		switch {
		case err != nil:
			t.Fatal(err)
		case e.Kind == runner.EventDelta:
			id, text = e.MessageID, text+e.Text
		case e.Kind == selvage.EventMessage && e.Message.Role == selvage.RoleAssistant:
			if e.Message.ID != id || e.Message.Text() != text {
				t.Errorf("message %s says %q, deltas of %s said %q", e.Message.ID, e.Message.Text(), id, text)
			}
		}
	}
	if text != "You said: one two three" {
		t.Errorf("deltas said %q", text)
	}
}

// Leaving the range cancels the run and records its end before it returns.
func TestLeavingTheRange(t *testing.T) {
	t.Parallel()
	store := newSpy()
	r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{echoTool("echo", selvage.EffectOnce)}})
	want := 0
	for e, err := range r.Stream(t.Context(), "whole", runner.Text(oneCall)) {
		if err != nil || e.Kind == runner.EventEnd {
			break
		}
		want++
	}
	for n := 1; n <= want; n++ {
		id := selvage.ThreadID(fmt.Sprintf("left-%d", n))
		store := newSpy()
		r := newRunner(t, runner.Options{Store: store, Tools: []tool.Tool{echoTool("echo", selvage.EffectOnce)}})
		seen, answered := 0, false
		for e := range r.Stream(t.Context(), id, runner.Text(oneCall)) {
			answered = answered || e.Message != nil && e.Message.Text() == "Done: a"
			if seen++; seen == n {
				break
			}
		}
		checkChain(t, store, id)
		head := load(t, store, id)
		if head.Lease != nil {
			t.Errorf("left after %d events: the lease is still held", n)
		}
		page, err := store.Runs(t.Context(), selvage.RunQuery{ThreadID: id})
		if err != nil || len(page.Items) != 1 {
			t.Fatalf("runs: %v, %v", page.Items, err)
		}
		if o := page.Items[0].Outcome; (o.Kind == selvage.OutcomeCancelled) == answered {
			t.Errorf("left after %d of %d events: %v, want cancelled unless its answer was told", n, want, o)
		}
	}
}

// A range that is never begun does nothing.
func TestStreamIsLazy(t *testing.T) {
	t.Parallel()
	store := newSpy()
	_ = newRunner(t, runner.Options{Store: store}).Stream(t.Context(), "t", runner.Text("hi"))
	if store.attempts != 0 {
		t.Error("something was appended")
	}
}
