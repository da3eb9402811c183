package replay_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/replay"
)

// Nothing that has the shape of a secret, and none of those in use, gets into a
// recording, wherever it stands; the rest is kept to the letter.
func TestSecretsStayOut(t *testing.T) {
	t.Parallel()
	secrets := []string{
		"correct horse battery", "correct horse battery staple", // told of
		"sk-proj-abcdefghijklmnop0123", "sk-ant-api03-abcdefghijklmnop", "AIzaSyA0123456789abcdefghijklmnopqrstuv",
		"ghp_0123456789abcdefghijABCDEFGHIJ", "xoxb-1234567890-abcdef", "AKIAIOSFODNN7EXAMPLE",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "hf_0123456789abcdefghijABCDEFGHIJ",
	}
	said := strings.Join(secrets, " and ") + " password: hunter2hunter2, postgres://ann:s3cr3tpw@host/db Authorization: Bearer 0123456789abcdefXYZ"
	secrets = append(secrets, "hunter2hunter2", "s3cr3tpw", "0123456789abcdefXYZ", "only-by-its-name", "in-pieces-0123456789")
	quoted, err := json.Marshal(map[string]any{"text": said, "token": "only-by-its-name", "n": json.Number("9007199254740993"), "keep": "me"})
	if err != nil {
		t.Fatal(err)
	}
	req := model.Request{System: said, Prefix: said, Tools: []selvage.ToolSpec{{Name: "f", Description: said, Parameters: quoted}}, Messages: []selvage.Message{
		{Role: selvage.RoleUser, Content: selvage.Content{{Type: selvage.PartText, Text: said}, {Type: selvage.PartData, Value: quoted},
			{Type: selvage.PartFile, Name: "f", Data: []byte(said)}}, Metadata: map[string]json.RawMessage{"m": quoted}},
		{Role: selvage.RoleAssistant, ToolCalls: []selvage.ToolCall{{ID: "a", Name: "f", Arguments: quoted}}},
		{Role: selvage.RoleTool, ToolCallID: "a", Content: selvage.Text(said)},
	}}
	answers := []spoken{answer(model.Chunk{Reasoning: said}, model.Chunk{Text: said}, model.Chunk{Text: " sk-in-pie"}, model.Chunk{Text: "ces-0123456789"},
		model.Chunk{Writing: &selvage.PartialCall{ID: "b", Name: "f", Arguments: `{"token":"only-by-`}}, model.Chunk{Writing: &selvage.PartialCall{Arguments: `its-name","text":"sk-proj-abcdefgh`}},
		model.Chunk{Writing: &selvage.PartialCall{Arguments: `ijklmnop0123`}}, model.Chunk{Writing: &selvage.PartialCall{Name: "g", Arguments: `{"secret":"only-by-its-name`}},
		model.Chunk{ToolCall: &selvage.ToolCall{ID: "b", Name: "f", Arguments: quoted}}),
		{nil, &model.Error{Class: model.Permanent, Err: errors.New(said)}}}
	o := replay.Options{Secrets: []string{"correct horse battery", "correct horse battery staple", "short"}}
	path := record(t, &script{answers: answers}, o, req, user("short as it is"))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range secrets {
		if strings.Contains(string(data), secret) {
			t.Errorf("the recording holds %s", secret)
		}
	}
	if strings.Contains(string(data), "staple") {
		t.Error("the end of a secret that begins with another is left")
	}
	for _, kept := range []string{`"keep":"me"`, `"n":9007199254740993`, "postgres://ann:[secret]@host/db", "short as it is"} {
		if !strings.Contains(string(data), kept) {
			t.Errorf("the recording lacks %s", kept)
		}
	}
	// The same request still finds its answer.
	chunks, err := take(t.Context(), open(t, path, o), req)
	if err != nil {
		t.Error(err)
	}
	for _, c := range chunks {
		if c.ToolCall != nil && !json.Valid(c.ToolCall.Arguments) {
			t.Errorf("arguments %s are no JSON", c.ToolCall.Arguments)
		}
	}
}

// A conversation that was redacted goes on in the replay: what was played is what
// the next request holds.
func TestARedactedAnswerGoesOn(t *testing.T) {
	t.Parallel()
	follow := func(text string) model.Request {
		return model.Request{Messages: []selvage.Message{selvage.UserText("a"), {Role: selvage.RoleAssistant, Content: selvage.Text(text)}, selvage.UserText("b")}}
	}
	for _, secret := range []string{"password: hunter2hunter2", "sk-proj-abcdefghijklmnop0123", "https://a:b3c4d5e6@h", "Bearer 0123456789abcdefXYZ"} {
		m := open(t, record(t, &script{answers: []spoken{say(secret), say("2")}}, replay.Options{}, user("a"), follow(secret)), replay.Options{})
		first, err := take(t.Context(), m, user("a"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := take(t.Context(), m, follow(first[0].Text)); err != nil {
			t.Errorf("after %q: %v", first[0].Text, err)
		}
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	good := record(t, &script{answers: []spoken{say("1")}}, replay.Options{}, user("a"))
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	whole := string(data)
	first, rest, _ := strings.Cut(whole, "\n")
	tests := map[string]struct {
		content string
		plays   bool
		records bool
		says    string
	}{
		"whole":              {whole, true, true, ""},
		"a torn line":        {whole + rest[:20], true, true, ""},
		"a torn beginning":   {first[:9], false, true, "holds no answer"},
		"empty":              {"", false, true, "holds no answer"},
		"no answer yet":      {first + "\n", false, true, "holds no answer"},
		"something else":     {"# Notes\n", false, false, "is not a recording"},
		"something short":    {"notes", false, false, "is not a recording"},
		"other lines":        {"{\"a\":1}\n", false, false, "is not a recording"},
		"a version to come":  {`{"format":"selvage-replay","version":2}` + "\n", false, false, "is a recording of version 2"},
		"garbage in a line":  {first + "\n{?}\n" + rest, false, false, "tape.jsonl:2: "},
		"answers of nothing": {first + "\n\n", false, false, "tape.jsonl:2: "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "tape.jsonl")
			if err := os.WriteFile(path, []byte(tt.content), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := replay.Open(path, replay.Options{})
			if (err == nil) != tt.plays || err != nil && (!errors.Is(err, selvage.ErrInvalid) || !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("opening it: %v, want it to say %q", err, tt.says)
			}
			r, err := replay.Record(path, replay.Options{})
			if !tt.records {
				if !errors.Is(err, selvage.ErrInvalid) || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("recording to it: %v, want it to say %q", err, tt.says)
				}
				if now, _ := os.ReadFile(path); string(now) != tt.content {
					t.Errorf("it was changed to %q", now)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			_, _ = take(t.Context(), r.Model(&script{answers: []spoken{say("2")}}), user("b"))
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			m := open(t, path, replay.Options{})
			if _, err := take(t.Context(), m, user("b")); err != nil {
				t.Error(err)
			}
			if _, err := take(t.Context(), m, user("a")); (err == nil) != tt.plays {
				t.Errorf("what was there before: %v", err)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v (%v), want it private", info.Mode(), err)
			}
		})
	}
	if _, err := replay.Open(filepath.Join(t.TempDir(), "none"), replay.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want that there is none", err)
	}
}

// A disk that takes nothing more is told, and the answer is not lost for it.
func TestARecordingThatFails(t *testing.T) {
	t.Parallel()
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip("this system has no full device")
	}
	if _, err := replay.Record(full, replay.Options{}); err == nil {
		t.Error("a device is taken for a file")
	}
	r, err := replay.Record(filepath.Join(t.TempDir(), "tape.jsonl"), replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	// After the end nothing is recorded, and answers still come.
	if chunks, err := take(t.Context(), r.Model(&script{answers: []spoken{say("1")}}), user("a")); err != nil || chunks[0].Text != "1" {
		t.Errorf("answer %v, error %v", chunks, err)
	}
}
