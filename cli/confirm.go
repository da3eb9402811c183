package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// confirm asks a question that only yes answers, where somebody can be asked.
// Declined says what it comes to otherwise.
func (a *app) confirm(ctx context.Context, question, declined string) error {
	if !isTerminal(a.stdin) {
		return usage("add --yes if you mean it", "nobody can be asked: %s", question)
	}
	_, _ = fmt.Fprintf(a.err, "%s [y/N] ", question) // a.err keeps it
	var answer line
	select {
	case answer = <-typed(ctx, a.stdin):
	case <-ctx.Done():
		answer.err = ctx.Err()
	}
	if answer.err != nil {
		return answer.err
	}
	if text := strings.ToLower(strings.TrimSpace(answer.text)); text != "y" && text != "yes" {
		return &failure{exit: exitFailed, class: "declined", err: errors.New(declined)}
	}
	return nil
}
