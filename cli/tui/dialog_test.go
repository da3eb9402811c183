package tui

import (
	"encoding/json"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
)

// waiting is a run that waits for questions.
func waiting(questions ...Question) Standing {
	return Standing{Run: "r1", Waiting: &selvage.Waiting{Reason: selvage.WaitApproval}, Questions: questions}
}

func approval(id string) Question {
	return Question{Run: "r1", CallID: "c-" + id, Tool: "shell", Arguments: json.RawMessage(`{"command":"rm x","n":9007199254740993}`),
		Ticket: selvage.Ticket{ID: id, Reason: selvage.WaitApproval, Message: "the command is not in the list"}}
}

// one is the only decision that was recorded.
func one(t *testing.T, a *actor) selvage.Decision {
	t.Helper()
	if len(a.decided) != 1 {
		t.Fatalf("%d decisions", len(a.decided))
	}
	if a.decided[0].ID == "" || a.decided[0].At.IsZero() {
		t.Errorf("a decision without id or time: %+v", a.decided[0])
	}
	return a.decided[0]
}

func TestApprove(t *testing.T) {
	a := &actor{standing: waiting(approval("t1")), turn: telling(answerOf("it is done"), endOf(runner.Result{RunID: "r1"}))}
	rigged(t, a, true, 80, 24, func(r *rig) {
		r.sees("may shell run?", "the command is not in the list", `"command": "rm x"`, "9007199254740993", "[a] approve", "[l] later", "waits: approval")
		r.press("enter")
		if len(a.decided) != 0 {
			r.t.Fatal("Enter alone decided")
		}
		r.typed("a")
		if len(a.decided) != 0 {
			r.t.Fatal("a key alone decided")
		}
		r.press("enter")
		r.wait(time.Second)
		if d := one(r.t, a); d.Action != selvage.DecisionResume || d.Arguments != nil || d.Result != nil {
			r.t.Errorf("decided %+v", d)
		}
		if len(a.resumed) != 1 {
			r.t.Errorf("resumed %d times", len(a.resumed))
		}
		r.sees("it is done", "ready")
		r.misses("may shell run?")
	})
}

func TestDenyWithReason(t *testing.T) {
	a := &actor{standing: waiting(approval("t1")), turn: telling(answerOf("then not"))}
	rigged(t, a, true, 80, 24, func(r *rig) {
		r.press("right", "right", "right") // approve, edit, deny
		r.press("enter")
		r.sees("reason, for the model")
		r.typed("too risky")
		r.press("enter")
		r.wait(time.Second)
		if d := one(r.t, a); d.Action != selvage.DecisionCancel || d.Reason != "too risky" {
			r.t.Errorf("decided %+v", d)
		}
		r.sees("then not")
	})
}

func TestEditArguments(t *testing.T) {
	a := &actor{standing: waiting(approval("t1")), turn: telling()}
	rigged(t, a, true, 80, 30, func(r *rig) {
		r.typed("e")
		r.press("enter")
		r.sees(`"command": "rm x"`)
		r.typed("!")
		r.press("enter")
		r.sees("this is not JSON")
		if len(a.decided) != 0 {
			r.t.Fatal("what is no JSON was recorded")
		}
		r.ask.field.SetValue(`{"command": "ls", "n": 9007199254740993}`)
		r.press("enter")
		r.wait(time.Second)
		if d := one(r.t, a); string(d.Arguments) != `{"command":"ls","n":9007199254740993}` {
			r.t.Errorf("decided %s", d.Arguments)
		}
	})
}

func TestUnknownCall(t *testing.T) {
	q := approval("t1")
	q.Ticket.Unknown, q.Ticket.Message = true, ""
	q.Key, q.Started = "key-7", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	a := &actor{standing: waiting(q), turn: telling()}
	rigged(t, a, false, 80, 30, func(r *rig) {
		r.sees("what became of shell is unknown", "may or may not have taken effect", "2026-01-02T03:04:05Z", "key-7", `"command": "rm x"`,
			"[a] run it again", "[r] it ran: give its result", "[d] deny")
		r.typed("r")
		r.sees("=>[r]")
		r.press("enter")
		r.typed("removed")
		r.press("enter")
		r.wait(time.Second)
		if d := one(r.t, a); d.Action != selvage.DecisionResume || string(d.Result) != `"removed"` {
			r.t.Errorf("decided %+v", d)
		}
	})
}

func TestQuestions(t *testing.T) {
	ask := func(details string) Question {
		return Question{Run: "r1", CallID: "c1", Tool: "ask_user", Arguments: json.RawMessage(details), Ticket: selvage.Ticket{ID: "t1", Reason: selvage.WaitUserInput,
			Message: "Red or blue?", Details: json.RawMessage(details), Schema: json.RawMessage(`{"type":"string"}`), Mode: selvage.ResumeResult}}
	}
	for name, c := range map[string]struct {
		details string
		keys    func(r *rig)
		want    string
	}{
		"option": {`{"question":"Red or blue?","options":["red","blue"]}`, func(r *rig) { r.typed("2"); r.press("enter") }, `"blue"`},
		"other":  {`{"question":"Red or blue?","options":["red","blue"]}`, func(r *rig) { r.typed("a"); r.press("enter"); r.typed("green"); r.press("enter") }, `"green"`},
		"text":   {`{"question":"Red or blue?"}`, func(r *rig) { r.typed("12"); r.press("enter") }, `"12"`},
	} {
		a := &actor{standing: waiting(ask(c.details)), turn: telling()}
		rigged(t, a, true, 80, 30, func(r *rig) {
			r.sees("Red or blue?")
			r.misses(`"question"`)
			c.keys(r)
			r.wait(time.Second)
			if d := one(r.t, a); string(d.Result) != c.want || d.Action != selvage.DecisionResume {
				r.t.Errorf("%s: decided %+v", name, d)
			}
		})
	}
}

// TestSeveralQuestions holds that each is asked, and the run goes on once.
func TestSeveralQuestions(t *testing.T) {
	a := &actor{standing: waiting(approval("t1"), approval("t2"), approval("t3")), turn: telling()}
	rigged(t, a, true, 80, 30, func(r *rig) {
		r.sees("(1 of 3)")
		r.typed("a")
		r.press("enter")
		r.sees("(1 of 2)")
		r.typed("l")
		r.press("enter")
		r.sees("(2 of 2)")
		if len(a.resumed) != 0 {
			r.t.Fatal("it went on too early")
		}
		r.typed("d")
		r.press("enter", "enter")
		r.wait(time.Second)
		if len(a.decided) != 2 || len(a.resumed) != 1 {
			r.t.Errorf("%d decisions, resumed %d times", len(a.decided), len(a.resumed))
		}
	})
}

// TestLater holds that a question that was put off is brought back by a key,
// and that messages wait meanwhile.
func TestLater(t *testing.T) {
	a := &actor{standing: waiting(approval("t1")), turn: telling()}
	rigged(t, a, true, 80, 24, func(r *rig) {
		r.typed("l")
		r.press("enter")
		r.misses("may shell run?")
		r.sees("waits: approval (ctrl+g)")
		r.typed("hello")
		r.press("enter")
		r.sees("queued: hello", "the run waits")
		if len(a.sent) != 0 || len(a.resumed) != 0 {
			r.t.Fatalf("sent %q, resumed %d times", a.sent, len(a.resumed))
		}
		r.press("ctrl+g")
		r.sees("may shell run?")
		r.typed("x")
		r.press("enter")
		r.wait(time.Second)
		if len(a.ended) != 1 || a.ended[0] != "r1" || len(a.decided) != 0 {
			r.t.Errorf("ended %q, decided %+v", a.ended, a.decided)
		}
		if len(a.sent) != 1 {
			r.t.Errorf("then sent %q", a.sent)
		}
	})
}

// TestDialogDoesNotTakeTheKeyboard holds that who is typing goes on typing.
func TestDialogDoesNotTakeTheKeyboard(t *testing.T) {
	a := &actor{turn: telling(answerOf("asks"))}
	rigged(t, a, true, 80, 24, func(r *rig) {
		r.typed("go")
		r.press("enter")
		a.standing = waiting(approval("t1"))
		r.typed("and anoth")
		r.wait(time.Second)
		r.typed("er")
		r.press("enter")
		r.sees("queued: and another")
		if len(a.decided) != 0 {
			r.t.Fatalf("decided %+v", a.decided)
		}
		r.press("ctrl+g")
		r.sees("may shell run?")
		r.press("esc")
		r.misses("may shell run?")
	})
}

func TestLimit(t *testing.T) {
	a := &actor{standing: Standing{Run: "r1", Waiting: &selvage.Waiting{Reason: selvage.WaitLimit, LimitCode: selvage.LimitTurns, Current: "5", Max: "5"}}, turn: telling()}
	rigged(t, a, true, 80, 24, func(r *rig) {
		r.sees("a limit is reached: turns", "5 of 5", "waits: turns 5/5")
		r.typed("r")
		r.press("enter")
		r.sees("turns=+10")
		r.typed("x")
		r.press("enter")
		r.sees("is not a whole number")
		r.ask.field.SetValue("turns=+3")
		a.standing = Standing{}
		r.press("enter")
		r.wait(time.Second)
		if len(a.resumed) != 1 || len(a.resumed[0]) != 1 || a.resumed[0][0] != (runner.Bump{Limit: "turns", By: true, Amount: 3}) {
			r.t.Errorf("resumed %+v", a.resumed)
		}
	})
}

// TestDecidedElsewhere holds that the screen notices what other processes do.
func TestDecidedElsewhere(t *testing.T) {
	a := &actor{standing: waiting(approval("t1")), turn: telling()}
	rigged(t, a, true, 80, 24, func(r *rig) {
		r.sees("may shell run?")
		a.standing = Standing{}
		a.history = History{Messages: []selvage.Message{selvage.UserText("said elsewhere")}}
		for range 3 {
			r.wait(pollEvery)
		}
		r.misses("may shell run?")
		r.sees("said elsewhere", "ready")
		if len(a.resumed) != 0 {
			r.t.Error("it was resumed")
		}
	})
}

// TestTimePasses holds that a run that waits until a time goes on then.
func TestTimePasses(t *testing.T) {
	a := &actor{turn: telling(answerOf("awake"))}
	until := time.Date(2000, 1, 1, 0, 0, 7, 0, time.UTC) // clocks of tests begin with 2000
	a.standing = Standing{Run: "r1", Waiting: &selvage.Waiting{Reason: selvage.WaitExternalEvent, Until: &until}}
	rigged(t, a, true, 80, 24, func(r *rig) {
		r.sees("waits: an event until")
		for range 5 {
			r.wait(pollEvery)
			if len(a.resumed) == 1 {
				a.standing = Standing{}
			}
		}
		if len(a.resumed) != 1 {
			r.t.Errorf("resumed %d times", len(a.resumed))
		}
		r.sees("awake")
	})
}

// TestDialogFits holds that what can be done is seen however much is asked.
func TestDialogFits(t *testing.T) {
	q := approval("t1")
	long, _ := json.Marshal(make([]int, 500))
	q.Arguments = json.RawMessage(`{"a":` + string(long) + `}`)
	a := &actor{standing: waiting(q), turn: telling()}
	rigged(t, a, true, 80, 24, func(r *rig) {
		for _, size := range [][2]int{{80, 24}, {40, 10}, {200, 60}, {20, 6}} {
			r.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			r.rest()
			r.fits()
			r.sees("[a] approve")
		}
		r.send(tea.WindowSizeMsg{Width: 80, Height: 24})
		before := r.screen()
		r.press("down")
		if r.screen() == before {
			r.t.Error("the details do not scroll")
		}
	})
}

// TestLedElsewhere holds that the screen shows what a run says that another
// process leads: when it has ended, and when this one has answered meanwhile.
func TestLedElsewhere(t *testing.T) {
	a := &actor{standing: Standing{Run: "r1"}, turn: telling(answerOf("here"))}
	rigged(t, a, true, 80, 24, func(r *rig) {
		r.sees("at work elsewhere")
		a.standing = Standing{}
		a.history = History{Messages: []selvage.Message{selvage.UserText("said elsewhere")}}
		r.wait(pollEvery)
		r.wait(pollEvery)
		r.sees("said elsewhere", "ready")
	})
	a = &actor{standing: Standing{Run: "r1"}, turn: telling(answerOf("here"))}
	rigged(t, a, true, 80, 24, func(r *rig) {
		a.standing = Standing{}
		a.history = History{Messages: []selvage.Message{selvage.UserText("said elsewhere")}}
		r.typed("and this")
		r.press("enter")
		r.wait(time.Second)
		r.sees("said elsewhere", "ready")
	})
}

// TestWaitingCallIsMarked holds that a call that waits is shown to wait in a
// conversation that was opened anew.
func TestWaitingCallIsMarked(t *testing.T) {
	q := approval("t1")
	call := selvage.ToolCall{ID: q.CallID, Name: q.Tool, Arguments: q.Arguments}
	a := &actor{standing: waiting(q), turn: telling(), history: History{Messages: []selvage.Message{{Role: selvage.RoleAssistant, ToolCalls: []selvage.ToolCall{call}}}}}
	rigged(t, a, true, 80, 24, func(r *rig) { r.sees("waits for a decision") })
}

// TestUsedArgumentsAreShown holds that a conversation that is opened anew shows
// what a call was run with, not what the model had asked for.
func TestUsedArgumentsAreShown(t *testing.T) {
	q := approval("t1")
	call := selvage.ToolCall{ID: q.CallID, Name: q.Tool, Arguments: q.Arguments}
	result := selvage.Message{Role: selvage.RoleTool, ToolCallID: q.CallID, Content: selvage.Text("done"),
		Metadata: map[string]json.RawMessage{runner.MetadataArguments: json.RawMessage(`{"command":"ls"}`)}}
	a := &actor{turn: telling(), history: History{Messages: []selvage.Message{{Role: selvage.RoleAssistant, ToolCalls: []selvage.ToolCall{call}}, result}}}
	rigged(t, a, true, 80, 24, func(r *rig) {
		r.sees(`{"command":"ls"}`)
		r.misses("rm x")
	})
}

// TestWaitsWithoutAQuestion holds that a run that a rule suspended can be gone
// on with, and that one which waits for something else can be ended.
func TestWaitsWithoutAQuestion(t *testing.T) {
	a := &actor{standing: Standing{Run: "r1", Waiting: &selvage.Waiting{Reason: selvage.WaitApproval, Message: "2 turns so far; go on?"}}, turn: telling(answerOf("it went on"))}
	rigged(t, a, true, 80, 24, func(r *rig) {
		r.sees("2 turns so far; go on?", "[r] go on", "[x] end the run")
		r.typed("r")
		a.standing = Standing{}
		r.press("enter")
		r.wait(time.Second)
		r.sees("it went on", "ready")
	})
	a = &actor{standing: Standing{Run: "r1", Waiting: &selvage.Waiting{Reason: selvage.WaitExternalEvent, Tickets: []string{"k"}}}, turn: telling()}
	rigged(t, a, true, 80, 24, func(r *rig) {
		r.sees("waits: an event (ctrl+g)")
		r.misses("[x]")
		r.press("ctrl+g")
		r.sees("the run waits for an event", "[x] end the run")
		r.misses("go on   ")
		r.wait(pollEvery)
		r.sees("[x] end the run")
		r.typed("x")
		r.press("enter")
		r.wait(time.Second)
		if len(a.ended) != 1 {
			r.t.Errorf("%d runs were ended", len(a.ended))
		}
	})
}

// TestProposedLimit holds that a limit is raised as proposed if nothing else is
// typed.
func TestProposedLimit(t *testing.T) {
	w := &selvage.Waiting{Reason: selvage.WaitLimit, LimitCode: selvage.LimitTurns, Current: "2", Max: "2", Escalation: selvage.Escalation{Ticket: "k", Proposed: "4"}}
	a := &actor{standing: Standing{Run: "r1", Waiting: w}, turn: telling()}
	rigged(t, a, true, 80, 24, func(r *rig) {
		r.typed("r")
		r.press("enter")
		r.sees("turns=4")
	})
}

// TestChildAsks holds that the commands are shown that answer what a spawned run
// asks.
func TestChildAsks(t *testing.T) {
	a := &actor{turn: telling(), standing: Standing{Run: "r1", Waiting: &selvage.Waiting{Reason: selvage.WaitBackground, Tickets: []string{"k"}, Message: "run r2, which it spawned, waits"},
		Elsewhere: []string{"selvage run approve r2", "selvage run deny r2"}}}
	rigged(t, a, true, 80, 24, func(r *rig) {
		r.sees("run r2, which it spawned, waits", "selvage run approve r2", "selvage run deny r2", "[x] end the run")
	})
}
