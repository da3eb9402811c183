package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func echo(t testing.TB) *sim.Model {
	t.Helper()
	m, err := sim.New("echo")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// ask returns the answer to messages in one piece.
func ask(t testing.TB, messages ...selvage.Message) model.Response {
	t.Helper()
	got, err := model.Collect(echo(t).Stream(t.Context(), model.Request{Messages: messages}))
	if err != nil {
		t.Fatalf("the answer failed: %v", err)
	}
	return got
}

// users are user messages that say texts.
func users(texts ...string) (messages []selvage.Message) {
	for _, text := range texts {
		messages = append(messages, selvage.UserText(text))
	}
	return messages
}

// results answers every call of m with "RESULT of NAME".
func results(m selvage.Message) (messages []selvage.Message) {
	for _, c := range m.ToolCalls {
		messages = append(messages, selvage.Message{Role: selvage.RoleTool, ToolCallID: c.ID, Content: selvage.Text("RESULT of " + c.Name)})
	}
	return messages
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		users []string
		want  string
	}{
		{[]string{"hello there"}, "You said: hello there"},
		{[]string{" two  spaces "}, "You said:  two  spaces "}, // repeated as it came
		{[]string{""}, "You said: "},
		{[]string{"remember APPLE-739"}, "I will remember: APPLE-739"},
		{[]string{"  remember   two words \n"}, "I will remember: two words"},
		{[]string{"remember"}, "You said: remember"},
		{[]string{"Remember x"}, "You said: Remember x"},
		{[]string{"remembers x"}, "You said: remembers x"},
		{[]string{"recall"}, "I remember nothing."},
		{[]string{"remember A", "hi", "remember B", "remember C", "recall"}, "You asked me to remember: A; B; C"},
		{[]string{"remember A", "recall", "recall"}, "You asked me to remember: A"},
		{[]string{"recall that"}, "You said: recall that"},
		{[]string{"hi", "context"}, `Context: 2 messages, first "hi"`},
		{[]string{"context"}, `Context: 1 messages, first "context"`},
		{[]string{"context of it"}, "You said: context of it"},
		{[]string{"tokens 12"}, "You said: tokens 12"},
		{[]string{"tokens -1"}, "You said: tokens -1"},
		{[]string{"tokens 1000000000001"}, "You said: tokens 1000000000001"},
		{[]string{"stream 0"}, ""},
		{[]string{"stream 1"}, "1"},
		{[]string{"stream -1"}, "You said: stream -1"},
		{[]string{"stream +1"}, "You said: stream +1"},
		{[]string{"stream 1000001"}, "You said: stream 1000001"},
		{[]string{"stream 99999999999999999999"}, "You said: stream 99999999999999999999"},
		{[]string{"stream two"}, "You said: stream two"},
		{[]string{"sleep 0s"}, "Slept 0s."},
		{[]string{"sleep -1s"}, "You said: sleep -1s"},
		{[]string{"sleep"}, "You said: sleep"},
		{[]string{"sleep well"}, "You said: sleep well"},
		{[]string{"fail"}, "You said: fail"},
		{[]string{"fail badly"}, "You said: fail badly"},
		{[]string{"fail cancelled"}, "You said: fail cancelled"},
		{[]string{"fail transient 0"}, "You said: fail transient 0"},
		{[]string{"fail transient -1"}, "You said: fail transient -1"},
		{[]string{"fail transient twice"}, "You said: fail transient twice"},
		{[]string{"call"}, "You said: call"},
		{[]string{"call clock"}, "You said: call clock"},
		{[]string{"call me maybe"}, "You said: call me maybe"},
		{[]string{"call clock {"}, "You said: call clock {"},
		{[]string{"call clock []"}, "You said: call clock []"},
		{[]string{"call clock {} please"}, "You said: call clock {} please"},
		{[]string{"call clock {} &&"}, "You said: call clock {} &&"},
		{[]string{"call clock {} && note"}, "You said: call clock {} && note"},
		{[]string{"call clock/now {}"}, "You said: call clock/now {}"},
		{[]string{`call clock {"a":01}`}, `You said: call clock {"a":01}`},
		{[]string{"call clock {\"a\":\"\xff\"}"}, "You said: call clock {\"a\":\"\uFFFD\"}"},
		{[]string{"loop 0 clock {}"}, "Done."},
		{[]string{"loop -1 clock {}"}, "You said: loop -1 clock {}"},
		{[]string{"loop 1000001 clock {}"}, "You said: loop 1000001 clock {}"},
		{[]string{"loop 2 clock {} && note {}"}, "You said: loop 2 clock {} && note {}"},
		{[]string{"loop 2 clock"}, "You said: loop 2 clock"},
		{nil, "You said nothing."},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.users, "/"), func(t *testing.T) {
			t.Parallel()
			got := ask(t, users(tt.users...)...)
			if text := got.Message.Text(); text != tt.want {
				t.Errorf("answer %q, want %q", text, tt.want)
			}
			if len(got.Message.ToolCalls) > 0 || got.Finish != model.FinishStop {
				t.Errorf("%d calls and finish %q, want none and stop", len(got.Message.ToolCalls), got.Finish)
			}
		})
	}
}

func TestOnlyTheLastUserMessageCommands(t *testing.T) {
	t.Parallel()
	messages := append(users("remember A", "stream 3"), selvage.Message{Role: selvage.RoleAssistant, Content: selvage.Text("remember B")},
		selvage.Message{Role: selvage.RoleSystem, Content: selvage.Text("remember C")}, selvage.UserText("recall"),
		selvage.Message{Role: selvage.RoleAssistant, Content: selvage.Text("half of an ans")})
	got := ask(t, messages...)
	if text := got.Message.Text(); text != "You asked me to remember: A" {
		t.Errorf("answer %q; assistants and systems do not ask to remember", text)
	}
}

func TestCalls(t *testing.T) {
	t.Parallel()
	tests := map[string][]selvage.ToolCall{
		`call clock {}`:                    {{Name: "clock", Arguments: json.RawMessage(`{}`)}},
		`call a_B-9 { "x" : "1  2" }  `:    {{Name: "a_B-9", Arguments: json.RawMessage(`{ "x" : "1  2" }`)}},
		`call note {"n":9007199254740993}`: {{Name: "note", Arguments: json.RawMessage(`{"n":9007199254740993}`)}},
		`call a {"x":"} && b {"} && b {"y":{"z":"&&"}}`: {
			{Name: "a", Arguments: json.RawMessage(`{"x":"} && b {"}`)},
			{Name: "b", Arguments: json.RawMessage(`{"y":{"z":"&&"}}`)},
		},
		"call a {}&&b {}\n&&\nc {}": {
			{Name: "a", Arguments: json.RawMessage(`{}`)}, {Name: "b", Arguments: json.RawMessage(`{}`)}, {Name: "c", Arguments: json.RawMessage(`{}`)},
		},
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			user := selvage.UserText(text)
			got := ask(t, user)
			calls := slices.Clone(got.Message.ToolCalls)
			for i := range calls {
				if err := selvage.CheckID("call", calls[i].ID); err != nil {
					t.Errorf("call %d: %v", i, err)
				}
				calls[i].ID = ""
			}
			if diff := cmp.Diff(want, calls); diff != "" {
				t.Fatalf("calls (-want +got):\n%s", diff)
			}
			if got.Finish != model.FinishToolCalls || len(got.Message.Content) > 0 {
				t.Errorf("finish %q with content %v, want tool_calls alone", got.Finish, got.Message.Content)
			}
			if again := ask(t, user); !cmp.Equal(got, again) {
				t.Errorf("the same messages gave another answer:\n%s", cmp.Diff(got, again))
			}

			answered := results(got.Message)
			slices.Reverse(answered) // results may come in any order
			done := ask(t, append([]selvage.Message{user, got.Message}, answered...)...)
			var texts []string
			for _, c := range want {
				texts = append(texts, "RESULT of "+c.Name)
			}
			if wanted := "Done: " + strings.Join(texts, "; "); done.Message.Text() != wanted || done.Finish != model.FinishStop {
				t.Errorf("answer %q (%s), want %q (stop)", done.Message.Text(), done.Finish, wanted)
			}
		})
	}
}

func TestResultsMayBeDataOrMissing(t *testing.T) {
	t.Parallel()
	user := selvage.UserText("call a {} && b {} && c {}")
	asked := ask(t, user).Message
	data := selvage.Content{{Type: selvage.PartData, Value: json.RawMessage(`{"n":1}`)}}
	got := ask(t, user, asked,
		selvage.Message{Role: selvage.RoleTool, ToolCallID: asked.ToolCalls[0].ID, Content: data},
		selvage.Message{Role: selvage.RoleTool, ToolCallID: asked.ToolCalls[2].ID})
	if want := `Done: {"n":1}; (no result); `; got.Message.Text() != want {
		t.Errorf("answer %q, want %q", got.Message.Text(), want)
	}
}

// converse lets the simulation run until it stops calling, through a window of
// the last messages, and returns every id it gave to a call.
func converse(t *testing.T, thread []selvage.Message, window int) (all []selvage.Message, ids []string) {
	t.Helper()
	for range 1000 {
		got := ask(t, thread[max(0, len(thread)-window):]...)
		thread = append(thread, got.Message)
		if len(got.Message.ToolCalls) == 0 {
			return thread, ids
		}
		for _, c := range got.Message.ToolCalls {
			ids = append(ids, c.ID)
		}
		thread = append(thread, results(got.Message)...)
	}
	t.Fatal("the simulation never stopped calling")
	return nil, nil
}

func TestLoop(t *testing.T) {
	t.Parallel()
	for _, window := range []int{1000, 200, 10, 2} { // below 61 messages the request leaves the window
		t.Run(fmt.Sprintf("window=%d", window), func(t *testing.T) {
			t.Parallel()
			thread, ids := converse(t, users("hello", `loop 30 note {"text":"x"}`), window)
			if len(ids) != 30 {
				t.Errorf("%d calls, want 30", len(ids))
			}
			if last := thread[len(thread)-1]; last.Text() != "Done." {
				t.Errorf("the end is %q, want Done.", last.Text())
			}
			for _, m := range thread {
				for _, c := range m.ToolCalls {
					if c.Name != "note" || string(c.Arguments) != `{"text":"x"}` {
						t.Fatalf("call %s %s, want the same in each turn", c.Name, c.Arguments)
					}
				}
			}
		})
	}
}

// A host that names calls by the beginning of their id and something of its own
// does not confuse a loop.
func TestLoopWithIDsOfTheHost(t *testing.T) {
	t.Parallel()
	for _, n := range []string{"9_10", "100000_1000000", "999999_1000000"} {
		id := ("loop_" + n + "_0123456789abcdef0123")[:19] + "_0123456789abcdef0123"
		thread := []selvage.Message{{Role: selvage.RoleAssistant, ToolCalls: []selvage.ToolCall{{ID: id, Name: "clock"}}},
			{Role: selvage.RoleTool, ToolCallID: id}}
		if got := ask(t, thread...); len(got.Message.ToolCalls) != 1 || got.Message.ToolCalls[0].Name != "clock" {
			t.Errorf("%s: after turn %s it says %q", id, n, got.Message.Text())
		}
	}
	id := "loop_1000000_100000_0123456789abcdef0123" // 1000000 of 1000000
	if got := ask(t, selvage.Message{Role: selvage.RoleAssistant, ToolCalls: []selvage.ToolCall{{ID: id, Name: "clock"}}},
		selvage.Message{Role: selvage.RoleTool, ToolCallID: id}); got.Message.Text() != "Done." {
		t.Errorf("after the last turn it says %q", got.Message.Text())
	}
}

func TestALoopCountsTurnsThatItDidNotName(t *testing.T) {
	t.Parallel()
	thread := users("loop 2 clock {}")
	for i := range 2 {
		id := fmt.Sprint("other", i)
		thread = append(thread, selvage.Message{Role: selvage.RoleAssistant, ToolCalls: []selvage.ToolCall{{ID: id, Name: "clock"}}},
			selvage.Message{Role: selvage.RoleTool, ToolCallID: id})
	}
	if got := ask(t, thread[:3]...); len(got.Message.ToolCalls) != 1 {
		t.Errorf("after one of two turns it says %q", got.Message.Text())
	}
	if got := ask(t, thread...); got.Message.Text() != "Done." {
		t.Errorf("after both turns it says %q", got.Message.Text())
	}
}

// Call ids of one thread never meet, with message ids or without, however
// little the window shows of what came before.
func TestCallIDsAreUniqueInAThread(t *testing.T) {
	t.Parallel()
	for _, named := range []bool{true, false} {
		for _, window := range []int{4, 200} {
			t.Run(fmt.Sprintf("named=%v,window=%d", named, window), func(t *testing.T) {
				t.Parallel()
				var thread []selvage.Message
				seen := map[string]bool{}
				for turn := range 20 {
					user := selvage.UserText([]string{"call clock {} && clock {}", "loop 2 clock {}"}[turn%2])
					if named {
						user.ID = fmt.Sprint("m", turn)
					}
					var ids []string
					thread, ids = converse(t, append(thread, user), window)
					for _, id := range ids {
						if seen[id] {
							t.Fatalf("turn %d gives id %s again", turn, id)
						}
						seen[id] = true
					}
				}
				if len(seen) != 40 {
					t.Errorf("%d calls, want 40", len(seen))
				}
			})
		}
	}
}

func TestFail(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text    string
		attempt int
		class   model.Class
		kept    string
		usage   selvage.Usage
	}{
		{"fail rate_limited", 0, model.RateLimited, "", selvage.Usage{}},
		{"fail transient", 0, model.Transient, "", selvage.Usage{}},
		{"fail transient", 99, model.Transient, "", selvage.Usage{}},
		{"fail quota", 0, model.Quota, "", selvage.Usage{}},
		{"fail permanent", 0, model.Permanent, "", selvage.Usage{}},
		{"fail cut", 0, model.Cut, "You said: ", selvage.Usage{InputTokens: 2, OutputTokens: 2}},
		{"fail transient 2", 1, model.Transient, "", selvage.Usage{}},
		{"fail transient 2", 2, "", "You said: fail transient 2", selvage.Usage{InputTokens: 3, OutputTokens: 5}},
		{"fail cut 1", 0, model.Cut, "You said: fail ", selvage.Usage{InputTokens: 3, OutputTokens: 3}},
		{"fail cut 1", 1, "", "You said: fail cut 1", selvage.Usage{InputTokens: 3, OutputTokens: 5}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s/attempt=%d", tt.text, tt.attempt), func(t *testing.T) {
			t.Parallel()
			got, err := model.Collect(echo(t).Stream(t.Context(), model.Request{Messages: users(tt.text), Attempt: tt.attempt}))
			if class := model.ClassOf(err); class != tt.class {
				t.Errorf("class %q (%v), want %q", class, err, tt.class)
			}
			if text := got.Message.Text(); text != tt.kept {
				t.Errorf("kept %q, want %q", text, tt.kept)
			}
			if got.Usage != tt.usage {
				t.Errorf("usage %+v, want %+v", got.Usage, tt.usage)
			}
			if finished := got.Finish != ""; finished != (tt.class == "") {
				t.Errorf("finish %q after error %v", got.Finish, err)
			}
		})
	}
}

func TestUsageAndPrice(t *testing.T) {
	t.Parallel()
	m := echo(t)
	price, known := m.Price()
	if !known {
		t.Fatal("the price is not known")
	}
	tests := []struct {
		messages []selvage.Message
		usage    selvage.Usage
		cost     string
	}{
		{users("one two", "three"), selvage.Usage{InputTokens: 3, OutputTokens: 3}, "0.000009"},
		{users("tokens 500"), selvage.Usage{InputTokens: 2, OutputTokens: 500}, "0.001002"},
		{users("tokens 0"), selvage.Usage{InputTokens: 2}, "0.000002"},
		{users("call clock {}"), selvage.Usage{InputTokens: 3}, "0.000003"},
		{users("tokens 1000000000000"), selvage.Usage{InputTokens: 2, OutputTokens: 1e12}, "2000000.000002"},
	}
	for _, tt := range tests {
		got := ask(t, tt.messages...).Usage
		if got != tt.usage || price.Cost(got).String() != tt.cost {
			t.Errorf("%q used %+v for %s, want %+v for %s", tt.messages[0].Text(), got, price.Cost(got), tt.usage, tt.cost)
		}
	}

	other := model.Price{Input: 5 * selvage.Dollar}
	if got, known := m.WithPrice(other).Price(); !known || got != other {
		t.Errorf("the configured price is %+v, want %+v", got, other)
	}
	if got, _ := m.Price(); got != price {
		t.Errorf("WithPrice changed the model it was called on")
	}
}

func TestMaxOutputTokens(t *testing.T) {
	t.Parallel()
	got, err := model.Collect(echo(t).Stream(t.Context(), model.Request{Messages: users("a b c"), MaxOutputTokens: 3}))
	if err != nil {
		t.Fatal(err)
	}
	if got.Message.Text() != "You said: a " || got.Finish != model.FinishLength || got.Usage.OutputTokens != 3 {
		t.Errorf("answer %q, finish %s, %d tokens; want it cut after three words", got.Message.Text(), got.Finish, got.Usage.OutputTokens)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	if name := echo(t).Name(); name != "sim/echo" {
		t.Errorf("name %q, want sim/echo", name)
	}
	for _, name := range []string{"", "Echo", "sim/echo", "parrot"} {
		_, err := sim.New(name)
		if !errors.Is(err, selvage.ErrInvalid) || !strings.Contains(err.Error(), "use sim/echo") {
			t.Errorf("New(%q): %v; want an invalid name, with the one to use", name, err)
		}
	}
}

func TestAStreamMayBeLeftEarly(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a b c", "call a {} && b {}", "fail cut", "fail permanent"} {
		for stop := 1; stop <= 5; stop++ {
			n := 0
			for range echo(t).Stream(t.Context(), model.Request{Messages: users(text)}) {
				if n++; n == stop {
					break
				}
			}
		}
	}
}

func TestAnEndedContextEndsTheAnswer(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"hello", "call clock {}", "sleep 1h", "stream 0", "fail permanent"} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := model.Collect(echo(t).Stream(ctx, model.Request{Messages: users(text)}))
		if model.ClassOf(err) != model.Cancelled || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want cancelled", text, err)
		}
	}
}

// An earlier call counts even when nobody answered it.
func TestCallIDsDependOnUnansweredCalls(t *testing.T) {
	t.Parallel()
	again := func(id string) string {
		asked := selvage.Message{Role: selvage.RoleAssistant, ToolCalls: []selvage.ToolCall{{ID: id, Name: "clock"}}}
		got := ask(t, selvage.UserText("call clock {}"), asked, selvage.UserText("call clock {}"))
		return got.Message.ToolCalls[0].ID
	}
	if a, b := again("a"), again("b"); a == b {
		t.Errorf("after two different calls the next one is %s both times", a)
	}
}

// The rest of an answer that broke off, put behind what had arrived, is the
// whole answer, wherever it broke.
func TestThePrefixIsGoneOnWith(t *testing.T) {
	t.Parallel()
	const whole = "You said: one two  three"
	for at := range len(whole) + 1 {
		got, err := model.Collect(echo(t).Stream(t.Context(), model.Request{Messages: users("one two  three"), Prefix: whole[:at]}))
		if err != nil || whole[:at]+got.Message.Text() != whole {
			t.Errorf("after %q came %q (%v)", whole[:at], got.Message.Text(), err)
		}
		if in := int64(3 + len(strings.Fields(whole[:at]))); got.Usage.InputTokens != in {
			t.Errorf("%d input tokens after %q, want %d", got.Usage.InputTokens, whole[:at], in)
		}
	}
}
