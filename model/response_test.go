package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
)

// streamOf yields chunks and then err, if there is one.
func streamOf(err error, chunks ...model.Chunk) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
		if err != nil {
			yield(model.Chunk{}, err)
		}
	}
}

func toolCall(id string) *selvage.ToolCall {
	return &selvage.ToolCall{ID: id, Name: "clock", Arguments: json.RawMessage(`{}`)}
}

func TestCollect(t *testing.T) {
	t.Parallel()
	got, err := model.Collect(streamOf(nil,
		model.Chunk{Reasoning: "let me "}, model.Chunk{Reasoning: "see"},
		model.Chunk{Text: "He"}, model.Chunk{Text: "llo"},
		model.Chunk{Reasoning: "again"},
		model.Chunk{Text: "!"},
		model.Chunk{Usage: &selvage.Usage{InputTokens: 1}},
		model.Chunk{ToolCall: toolCall("a")}, model.Chunk{ToolCall: toolCall("b")},
		model.Chunk{Usage: &selvage.Usage{InputTokens: 7, OutputTokens: 2}},
		model.Chunk{Finish: model.FinishToolCalls},
	))
	if err != nil {
		t.Fatal(err)
	}
	want := model.Response{
		Message: selvage.Message{
			Role: selvage.RoleAssistant,
			Content: selvage.Content{
				{Type: selvage.PartReasoning, Text: "let me see"},
				{Type: selvage.PartText, Text: "Hello"},
				{Type: selvage.PartReasoning, Text: "again"},
				{Type: selvage.PartText, Text: "!"},
			},
			ToolCalls: []selvage.ToolCall{*toolCall("a"), *toolCall("b")},
		},
		Usage:  selvage.Usage{InputTokens: 7, OutputTokens: 2}, // the last report, not the sum
		Finish: model.FinishToolCalls,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
}

func TestCollectOfABrokenStream(t *testing.T) {
	t.Parallel()
	cut := &model.Error{Class: model.Cut, Err: errors.New("connection reset")}
	tests := map[string]struct {
		stream iter.Seq2[model.Chunk, error]
		text   string
		class  model.Class
	}{
		"keeps what had arrived":         {streamOf(cut, model.Chunk{Text: "half "}, model.Chunk{Text: "of"}), "half of", model.Cut},
		"half a character is replaced":   {streamOf(cut, model.Chunk{Text: "caf\xc3"}), "caf\uFFFD", model.Cut},
		"a split character is not":       {streamOf(nil, model.Chunk{Text: "caf\xc3"}, model.Chunk{Text: "\xa9"}, model.Chunk{Finish: model.FinishStop}), "café", ""},
		"without a finish, after output": {streamOf(nil, model.Chunk{Text: "half"}), "half", model.Cut},
		"without a finish, after a call": {streamOf(nil, model.Chunk{ToolCall: toolCall("a")}), "", model.Cut},
		"without anything":               {streamOf(nil), "", model.Transient},
		"with nothing but usage":         {streamOf(nil, model.Chunk{Usage: &selvage.Usage{InputTokens: 1}}), "", model.Transient},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := model.Collect(tt.stream)
			if class := model.ClassOf(err); class != tt.class {
				t.Errorf("class %q (%v), want %q", class, err, tt.class)
			}
			if text := got.Message.Text(); text != tt.text {
				t.Errorf("kept %q, want %q", text, tt.text)
			}
		})
	}
}

func TestAResponseIsNotChangedByLaterChunks(t *testing.T) {
	t.Parallel()
	var a model.Accumulator
	a.Add(model.Chunk{Text: "one"})
	a.Add(model.Chunk{ToolCall: toolCall("a")})
	before := a.Response()
	a.Add(model.Chunk{Text: " two"})
	a.Add(model.Chunk{ToolCall: toolCall("b")})
	if got := before.Message.Text(); got != "one" || len(before.Message.ToolCalls) != 1 {
		t.Errorf("the earlier response became %q with %d calls", got, len(before.Message.ToolCalls))
	}
	if after := a.Response(); after.Message.Text() != "one two" || len(after.Message.ToolCalls) != 2 {
		t.Errorf("the later response is %q with %d calls", after.Message.Text(), len(after.Message.ToolCalls))
	}
}

func TestClassOf(t *testing.T) {
	t.Parallel()
	limited := &model.Error{Class: model.RateLimited, Status: 429, Err: errors.New("slow down")}
	tests := map[string]struct {
		err   error
		class model.Class
		retry bool
	}{
		"nil":                    {nil, "", false},
		"wrapped":                {errors.Join(errors.New("turn 3"), limited), model.RateLimited, true},
		"transient":              {model.Broken(false, errors.New("reset")), model.Transient, true},
		"cut":                    {model.Broken(true, errors.New("reset")), model.Cut, true},
		"cancelled":              {context.Canceled, model.Cancelled, false},
		"deadline":               {context.DeadlineExceeded, model.Cancelled, false},
		"a timeout of its own":   {model.Broken(false, context.DeadlineExceeded), model.Transient, true}, // the class wins over the cause
		"unknown is not retried": {errors.New("what"), model.Permanent, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			class := model.ClassOf(tt.err)
			if class != tt.class || class.Retryable() != tt.retry {
				t.Errorf("ClassOf(%v) = %q, retryable %v; want %q, %v", tt.err, class, class.Retryable(), tt.class, tt.retry)
			}
		})
	}
}

func TestEnded(t *testing.T) {
	t.Parallel()
	cause := errors.New("the user left")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	err := model.Ended(ctx)
	if err.Class != model.Cancelled || !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
		t.Errorf("Ended is %v, of class %s; want it to match the context's error and its cause", err, err.Class)
	}
}

// A signature ends the reasoning that it is of.
func TestSignatures(t *testing.T) {
	t.Parallel()
	got, err := model.Collect(streamOf(nil, model.Chunk{Reasoning: "a"}, model.Chunk{Reasoning: "b"}, model.Chunk{Signature: "s1"},
		model.Chunk{Reasoning: "c"}, model.Chunk{Signature: "s2"}, model.Chunk{Signature: "s3"}, model.Chunk{Text: "t"}, model.Chunk{Signature: "s4"},
		model.Chunk{Finish: model.FinishStop}))
	want := selvage.Content{
		{Type: selvage.PartReasoning, Text: "ab", Signature: "s1"},
		{Type: selvage.PartReasoning, Text: "c", Signature: "s2"},
		{Type: selvage.PartReasoning, Signature: "s3"},
		{Type: selvage.PartText, Text: "t"},
		{Type: selvage.PartReasoning, Signature: "s4"},
	}
	if diff := cmp.Diff(want, got.Message.Content); diff != "" || err != nil {
		t.Errorf("error %v, content (-want +got):\n%s", err, diff)
	}
}
