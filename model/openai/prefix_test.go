package openai_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/openai"
)

const begun = "The first half of an answer that "

// prefixed is hello with the beginning of its answer.
var prefixed = model.Request{Messages: hello.Messages, Prefix: begun}

// A server that can go on is given the unfinished message, any other is asked.
func TestThePrefixOnTheWire(t *testing.T) {
	t.Parallel()
	for name, continues := range map[string]bool{"goes on": true, "is asked": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, frames(text("goes on."), finish("stop"), done))
			m := open(t, openai.Options{Model: "m", BaseURL: s.URL, Continues: continues, HTTPClient: s.Client()})
			got, err := model.Collect(m.Stream(t.Context(), prefixed))
			if err != nil || got.Message.Text() != "goes on." {
				t.Errorf("answer %q, error %v", got.Message.Text(), err)
			}
			_, body := s.asked(t)
			request, _ := exact(t, body).(map[string]any)
			messages, _ := request["messages"].([]any)
			begins := map[string]any{"role": "assistant", "content": begun}
			if len(messages) < 2 || cmp.Diff(begins, messages[1]) != "" {
				t.Fatalf("messages %v, want the second to be %v", messages, begins)
			}
			if continues {
				if len(messages) != 2 || request["continue_final_message"] != true || request["add_generation_prompt"] != false {
					t.Errorf("body %s, want the message left open", body)
				}
			} else if len(messages) != 3 || !strings.Contains(body, "Go on exactly where it stopped") || strings.Contains(body, "continue_final") {
				t.Errorf("body %s, want it asked to go on", body)
			}
		})
	}
}

// What a model repeats although it was asked not to is dropped, wherever its
// chunks are cut, and nothing else is.
func TestARepeatedPrefixIsDropped(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		begun + "goes on.":                 "goes on.",
		"goes on.":                         "goes on.",
		"The first thing is another":       "The first thing is another",
		"The first half":                   "The first half",
		begun:                              "",
		"goes on. " + begun + "is no more": "goes on. " + begun + "is no more",
	} {
		for _, size := range []int{1, 7, 1000} {
			var pieces []string
			for rest := said; rest != ""; {
				n := min(size, len(rest))
				pieces, rest = append(pieces, text(rest[:n])), rest[n:]
			}
			s := serve(t, frames(append(pieces, finish("stop"), done)...))
			got, err := model.Collect(s.model(t).Stream(t.Context(), prefixed))
			if err != nil || got.Message.Text() != want {
				t.Errorf("of %q in pieces of %d came %q (%v), want %q", said, size, got.Message.Text(), err, want)
			}
		}
	}
}

// What was held back arrives also if the stream breaks.
func TestWhatIsHeldIsNotLost(t *testing.T) {
	t.Parallel()
	s := serve(t, frames(text("The first half")))
	got, err := model.Collect(s.model(t).Stream(t.Context(), prefixed))
	checkError(t, err, model.Cut)
	if got.Message.Text() != "The first half" {
		t.Errorf("kept %q", got.Message.Text())
	}
}

// A short beginning may well be the beginning of the rest too.
func TestAShortPrefixMayComeAgain(t *testing.T) {
	t.Parallel()
	s := serve(t, frames(text("ha ha"), finish("stop"), done))
	got, err := model.Collect(s.model(t).Stream(t.Context(), model.Request{Messages: hello.Messages, Prefix: "ha "}))
	if err != nil || got.Message.Text() != "ha ha" {
		t.Errorf("answer %q, error %v", got.Message.Text(), err)
	}
}

// OpenAI itself takes instructions anywhere; other servers only first.
func TestInstructionsInTheMiddle(t *testing.T) {
	t.Parallel()
	s := serve(t, frames(finish("stop"), done))
	_, err := model.Collect(s.model(t).Stream(t.Context(), model.Request{Messages: []selvage.Message{
		selvage.UserText("one"), {Role: selvage.RoleSystem, Content: selvage.Text("It is late.")}, selvage.UserText("two"),
	}}))
	if err != nil {
		t.Fatal(err)
	}
	_, body := s.asked(t)
	want := `{"model":"test-model","stream":true,"stream_options":{"include_usage":true},"messages":[
		{"role":"user","content":"one"},{"role":"user","content":"<system>\nIt is late.\n</system>"},{"role":"user","content":"two"}]}`
	if diff := cmp.Diff(exact(t, want), exact(t, body)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}
