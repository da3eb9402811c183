package model_test

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
)

// shaky is a model whose stream breaks until the second attempt.
type shaky struct{}

func (shaky) Name() string { return "example/shaky" }

func (shaky) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		if !yield(model.Chunk{Text: "The answer "}, nil) {
			return
		}
		if req.Attempt < 1 {
			yield(model.Chunk{}, model.Broken(true, errors.New("connection reset")))
			return
		}
		if yield(model.Chunk{Text: "is 42."}, nil) {
			yield(model.Chunk{Finish: model.FinishStop}, nil)
		}
	}
}

// What arrived before a stream broke is kept, and the class of the error says
// whether to try again.
func ExampleCollect() {
	req := model.Request{Messages: []selvage.Message{selvage.UserText("What is the answer?")}}
	for ; ; req.Attempt++ {
		answer, err := model.Collect(shaky{}.Stream(context.Background(), req))
		fmt.Printf("%q, finish %q, error: %v\n", answer.Message.Text(), answer.Finish, err)
		if !model.ClassOf(err).Retryable() {
			break
		}
	}
	// Output:
	// "The answer ", finish "", error: cut model error: connection reset
	// "The answer is 42.", finish "stop", error: <nil>
}

// Prices are for a million tokens, so that small ones stay exact.
func ExamplePrice_Cost() {
	price := model.Price{Input: selvage.Dollar / 4, Output: 2 * selvage.Dollar}
	fmt.Println(price.Cost(selvage.Usage{InputTokens: 1200, OutputTokens: 350}))
	// Output: 0.001
}
