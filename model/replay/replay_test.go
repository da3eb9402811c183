package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/replay"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a model that says what it is told to, one answer after the other.
type script struct {
	price   *model.Price
	answers []spoken
	asked   int
}

// spoken is one answer of a script.
type spoken struct {
	chunks []model.Chunk
	err    error
}

func (s *script) Name() string { return "test/script" }

func (s *script) Price() (model.Price, bool) {
	if s.price == nil {
		return model.Price{}, false
	}
	return *s.price, true
}

func (s *script) Stream(context.Context, model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		a := s.answers[s.asked]
		s.asked++
		for _, c := range a.chunks {
			if !yield(c, nil) {
				return
			}
		}
		if a.err != nil {
			yield(model.Chunk{}, a.err)
		}
	}
}

// answer is a whole answer.
func answer(chunks ...model.Chunk) spoken {
	return spoken{chunks: append(chunks, model.Chunk{Finish: model.FinishStop})}
}

func say(text string) spoken { return answer(model.Chunk{Text: text}) }

// take ranges over an answer to its end.
func take(ctx context.Context, m model.Model, req model.Request) (chunks []model.Chunk, err error) {
	for c, streamErr := range m.Stream(ctx, req) {
		if streamErr != nil {
			return chunks, streamErr
		}
		chunks = append(chunks, c)
	}
	return chunks, nil
}

func user(texts ...string) model.Request {
	var req model.Request
	for _, text := range texts {
		req.Messages = append(req.Messages, selvage.UserText(text))
	}
	return req
}

// record asks s all requests, and returns the path of the recording.
func record(t *testing.T, s *script, o replay.Options, requests ...model.Request) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tape.jsonl")
	r, err := replay.Record(path, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, req := range requests {
		_, _ = take(t.Context(), r.Model(s), req) // how it ends is part of the recording
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, path string, o replay.Options) *replay.Model {
	t.Helper()
	m, err := replay.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Everything that an answer can hold comes back as it came.
func TestWhatWasRecordedIsPlayed(t *testing.T) {
	t.Parallel()
	limited := &model.Error{Class: model.RateLimited, Status: 429, RetryAfter: 1500 * time.Millisecond, Err: errors.New("slow down")}
	answers := []spoken{
		answer(model.Chunk{Reasoning: "hm"}, model.Chunk{Signature: "anthropic:c2ln"}, model.Chunk{Text: "caf\xc3"}, model.Chunk{Text: "\xa9 <b>"},
			model.Chunk{ToolCall: &selvage.ToolCall{ID: "c1", Name: "f", Arguments: json.RawMessage(`{"n":9007199254740993,"a":[1,"x"]}`)}},
			model.Chunk{Usage: &selvage.Usage{InputTokens: 3, OutputTokens: 4, CachedTokens: 1}}),
		{[]model.Chunk{{Text: "half"}, {Writing: &selvage.PartialCall{ID: "c1", Name: "f", Arguments: `{"te`}}, {Usage: &selvage.Usage{InputTokens: 3}}}, model.Broken(true, errors.New("connection reset"))},
		{nil, limited},
		{[]model.Chunk{}, errors.New("no class of its own")},
	}
	requests := []model.Request{user("one"), user("two"), user("three"), user("four")}
	price := model.Price{Input: selvage.Dollar}
	path := record(t, &script{answers: answers, price: &price}, replay.Options{}, requests...)
	m := open(t, path, replay.Options{})
	for i := range requests {
		chunks, err := take(t.Context(), m, requests[i])
		if got, want := told(chunks), told(answers[i].chunks); got != want {
			t.Errorf("answer %d is\n%s\nwant\n%s", i+1, got, want)
		}
		if model.ClassOf(err) != model.ClassOf(answers[i].err) || (err == nil) != (answers[i].err == nil) {
			t.Errorf("error %d is %v, want %v", i+1, err, answers[i].err)
		}
	}
	_, err := take(t.Context(), m, user("three"))
	var failed *model.Error
	if !errors.As(err, &failed) || failed.Status != 429 || failed.RetryAfter != 1500*time.Millisecond || failed.Error() != limited.Error() {
		t.Errorf("error %+v, want %+v", failed, limited)
	}
	if got, known := m.Price(); !known || got != price {
		t.Errorf("price %+v (%v), want that of the recorded model", got, known)
	}
	if m.Name() != "replay:"+path {
		t.Errorf("it is called %s", m.Name())
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v (%v), want it private", info.Mode(), err)
	}
}

// told is chunks in words.
func told(chunks []model.Chunk) string {
	var b strings.Builder
	for _, c := range chunks {
		call, _ := json.Marshal(c.ToolCall)
		usage, _ := json.Marshal(c.Usage)
		writing, _ := json.Marshal(c.Writing)
		fmt.Fprintf(&b, "%s %q %q %q %s %s %s\n", writing, c.Text, c.Reasoning, c.Signature, call, usage, c.Finish)
	}
	return b.String()
}

// What differs from run to run does not make another request: ids, times, and
// the ids of calls.
func TestTheSameRequest(t *testing.T) {
	t.Parallel()
	request := func(call string) model.Request {
		return model.Request{System: "s", Tools: []selvage.ToolSpec{{Name: "f", Parameters: json.RawMessage(`{"type": "object"}`)}}, Messages: []selvage.Message{
			{ID: selvage.NewID(), CreatedAt: time.Now(), Role: selvage.RoleUser, Content: selvage.Text("go"), RunID: selvage.RunID(selvage.NewID())},
			{ID: selvage.NewID(), Role: selvage.RoleAssistant, Content: selvage.Content{{Type: selvage.PartReasoning, Signature: selvage.NewID()}},
				ToolCalls: []selvage.ToolCall{{ID: call + "1", Name: "f", Arguments: json.RawMessage(`{ "a": 1 }`)}, {ID: call + "2", Name: "f"}}},
			{Role: selvage.RoleTool, ToolCallID: call + "2", Content: selvage.Text("two")},
			{Role: selvage.RoleTool, ToolCallID: call + "1", Content: selvage.Text("one")},
		}}
	}
	m := open(t, record(t, &script{answers: []spoken{say("yes")}}, replay.Options{}, request("a")), replay.Options{})
	if chunks, err := take(t.Context(), m, request("b")); err != nil || chunks[0].Text != "yes" {
		t.Errorf("answer %v, error %v", chunks, err)
	}
	swapped := request("b")
	swapped.Messages[2].ToolCallID, swapped.Messages[3].ToolCallID = "b1", "b2"
	if _, err := take(t.Context(), m, swapped); err == nil {
		t.Error("results of other calls are taken for the same request")
	}
}

// Another request fails for good and says where it parts from the next one.
func TestAnotherRequest(t *testing.T) {
	t.Parallel()
	base := func() model.Request {
		return model.Request{System: "Be brief.", Messages: []selvage.Message{selvage.UserText("what is the weather in Paris, and in all of the other large towns?")},
			Tools: []selvage.ToolSpec{{Name: "f"}}}
	}
	first := user("first")
	for name, tt := range map[string]struct {
		change func(*model.Request)
		says   string
	}{
		"text": {func(r *model.Request) {
			r.Messages[0].Content[0].Text = "what is the weather in London, and in all of the other large towns?"
		}, `messages[0].content[0].text: "what is the weather in Paris, and in all of the other..." was recorded, "what is the weather in London, and in all of the othe..." is asked`},
		"system":  {func(r *model.Request) { r.System = "" }, `system: "Be brief." was recorded, nothing is asked`},
		"message": {func(r *model.Request) { r.Messages = append(r.Messages, selvage.UserText("more")) }, `messages[1]: nothing was recorded, {"content":[{"text":"more"`},
		"fewer":   {func(r *model.Request) { r.Messages = nil }, `messages[0]: {"content":`},
		"tool":    {func(r *model.Request) { r.Tools[0].Name = "g" }, `tools[0].name: "f" was recorded, "g" is asked`},
		"prefix":  {func(r *model.Request) { r.Prefix = "Hal" }, `prefix: nothing was recorded, "Hal" is asked`},
		"bound":   {func(r *model.Request) { r.MaxOutputTokens = 7 }, `max_output_tokens: nothing was recorded, 7 is asked`},
		"image": {func(r *model.Request) {
			r.Messages[0].Content = append(r.Messages[0].Content, selvage.Part{Type: selvage.PartImage, Data: []byte{1}})
		}, `messages[0].content[1]: nothing was recorded, {"sha256":`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := open(t, record(t, &script{answers: []spoken{say("one"), say("two"), say("three")}}, replay.Options{}, first, base(), user("last")), replay.Options{})
			if _, err := take(t.Context(), m, first); err != nil {
				t.Fatal(err)
			}
			other := base()
			tt.change(&other)
			_, err := take(t.Context(), m, other)
			if model.ClassOf(err) != model.Permanent || !strings.Contains(err.Error(), "answer 2, the next in order, was to another request: ") || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want it to say %s", err, tt.says)
			}
			// It changed nothing.
			if chunks, err := take(t.Context(), m, base()); err != nil || chunks[0].Text != "two" {
				t.Errorf("answer %v, error %v", chunks, err)
			}
		})
	}
}

// The same question asked again gets what it got then, attempts are told apart,
// and the last answer is given for ever.
func TestTheSameQuestionAgain(t *testing.T) {
	t.Parallel()
	again := user("a")
	again.Attempt = 1
	answers := []spoken{{nil, model.Broken(false, errors.New("reset"))}, say("1"), say("2"), say("3")}
	path := record(t, &script{answers: answers}, replay.Options{}, user("a"), again, user("a"), user("a"))
	for range 2 { // a new process begins at the beginning
		m := open(t, path, replay.Options{})
		var got []string
		for _, req := range []model.Request{user("a"), again, user("a"), user("a"), user("a"), again} {
			chunks, err := take(t.Context(), m, req)
			if err != nil {
				got = append(got, string(model.ClassOf(err)))
			} else {
				got = append(got, chunks[0].Text)
			}
		}
		if want := "transient 1 2 3 3 1"; strings.Join(got, " ") != want {
			t.Errorf("answers %v, want %s", got, want)
		}
	}
}

// In order, requests do not count, and there is an end.
func TestInOrder(t *testing.T) {
	t.Parallel()
	m := open(t, record(t, &script{answers: []spoken{say("1"), say("2")}}, replay.Options{}, user("a"), user("b")), replay.Options{InOrder: true})
	for _, want := range []string{"1", "2"} {
		if chunks, err := take(t.Context(), m, user("today is another day")); err != nil || chunks[0].Text != want {
			t.Errorf("answer %v, error %v; want %s", chunks, err, want)
		}
	}
	if _, err := take(t.Context(), m, user("a")); model.ClassOf(err) != model.Permanent || !strings.Contains(err.Error(), "no more than 2 answers") {
		t.Errorf("error %v, want the end of the recording", err)
	}
}

// An attempt that its caller broke off is not recorded, one that was left behind
// its finish is.
func TestAttemptsThatWereBrokenOff(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tape.jsonl")
	r, err := replay.Record(path, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := &script{answers: []spoken{{nil, model.Ended(ctx)}, say("left"), say("finished")}}
	_, _ = take(t.Context(), r.Model(s), user("cancelled"))
	for range r.Model(s).Stream(t.Context(), user("left")) {
		break
	}
	for c := range r.Model(s).Stream(t.Context(), user("finished")) {
		if c.Finish != "" {
			break
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	m := open(t, path, replay.Options{})
	if _, err := take(t.Context(), m, user("finished")); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"cancelled", "left"} {
		if _, err := take(t.Context(), m, user(text)); model.ClassOf(err) != model.Permanent {
			t.Errorf("%s was recorded: %v", text, err)
		}
	}
	if _, err := take(ctx, m, user("finished")); model.ClassOf(err) != model.Cancelled {
		t.Errorf("error %v, want the playing cancelled", err)
	}
}
