package cli

import (
	"bytes"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
)

// What a terminal shows of an answer stands there once, however often it was
// asked for.
func TestTellerShowsNothingTwice(t *testing.T) {
	t.Parallel()
	said := func(text string) runner.Event { return runner.Event{Kind: runner.EventDelta, Text: text} }
	retry := runner.Event{Kind: runner.EventRetry, Note: "the line broke"}
	goOn := runner.Event{Kind: runner.EventContinue, Note: "the line broke"}
	end := runner.Event{Kind: selvage.EventMessage, Message: &selvage.Message{Role: selvage.RoleAssistant}}
	const again, other = "trying again: the line broke\n", "the answer is another this time:\n"
	for name, tt := range map[string]struct {
		events []runner.Event
		want   string
	}{
		"whole":                 {[]runner.Event{said("Once "), said("upon"), end}, "Once upon\n"},
		"gone on with":          {[]runner.Event{said("Once u"), goOn, said("pon"), end}, "Once upon\n"},
		"again":                 {[]runner.Event{said("Once "), retry, said("On"), said("ce upon"), said(" a"), end}, "Once \n" + again + "upon a\n"},
		"again, the same":       {[]runner.Event{said("Once "), retry, said("Once "), end}, "Once \n" + again},
		"again and again":       {[]runner.Event{said("Once "), retry, said("On"), retry, said("Once upon"), end}, "Once \n" + again + again + "upon\n"},
		"otherwise":             {[]runner.Event{said("Once "), retry, said("On"), said("ly"), end}, "Once \n" + again + other + "Only\n"},
		"less":                  {[]runner.Event{said("Once "), retry, said("On"), end}, "Once \n" + again + other + "On\n"},
		"nothing had come":      {[]runner.Event{retry, said("Once"), end}, again + "Once\n"},
		"two answers":           {[]runner.Event{said("a"), end, said("a"), end}, "a\na\n"},
		"gone on with, nothing": {[]runner.Event{goOn, said("Once"), end}, "going on: the line broke\nOnce\n"},
	} {
		out := &bytes.Buffer{}
		a, err := newApp(Options{Args: []string{}, Dir: t.TempDir(), Stdout: out, Stderr: out})
		if err != nil {
			t.Fatal(err)
		}
		show := &teller{app: a, live: true}
		for i := range tt.events {
			show.event(&tt.events[i])
		}
		show.breakLine()
		if out.String() != tt.want {
			t.Errorf("%s: %q; want %q", name, out, tt.want)
		}
	}
}
