package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/budget"
	"github.com/selvagehq/selvage/state"
)

// spending is what counts against the limits of a run: what it did itself, and
// what the runs did that it spawned.
type spending struct {
	turns    int
	used     budget.Amount // with what ended children spent
	reserved budget.Amount // by open children
	elapsed  time.Duration // waiting aside
}

// spending adds up what the run has used so far.
func (x *run) spending() (spending, error) {
	children, err := budget.Children(x.doc, x.id)
	if err != nil {
		return spending{}, err
	}
	own := budget.Amount{Spend: x.cost, Tokens: x.usage.InputTokens + x.usage.OutputTokens}
	sheet := budget.Sheet{Own: own, Children: children}
	return spending{turns: x.answers, used: sheet.Total(), reserved: sheet.Reserved(), elapsed: x.r.opts.Now().Sub(x.begun)}, nil
}

// reached returns what a run waits for that has used as much as a limit, or
// nil. Nil is no limit and 0 allows nothing. Spawns and depth are not here: they
// bound what is asked for, and are looked at when a run is spawned.
func reached(limits *selvage.Limits, s *spending) *selvage.Waiting {
	switch {
	case limits.Turns != nil && s.turns >= *limits.Turns:
		return &selvage.Waiting{Reason: selvage.WaitLimit, LimitCode: selvage.LimitTurns,
			Current: selvage.Count(int64(s.turns)), Max: selvage.Count(int64(*limits.Turns)),
			Message: fmt.Sprintf("the run may take %d turns", *limits.Turns)}
	case limits.Tokens != nil && s.used.Tokens+s.reserved.Tokens >= *limits.Tokens:
		w := &selvage.Waiting{Reason: selvage.WaitLimit, LimitCode: selvage.LimitTokens,
			Current: selvage.Count(s.used.Tokens), Max: selvage.Count(*limits.Tokens),
			Message: fmt.Sprintf("the run may use %d tokens and has used %d", *limits.Tokens, s.used.Tokens)}
		if s.used.Tokens < *limits.Tokens {
			w.Reason, w.Current = selvage.WaitBudget, selvage.Count(s.used.Tokens+s.reserved.Tokens)
			w.Message += fmt.Sprintf("; runs that it spawned have reserved %d", s.reserved.Tokens)
		}
		return w
	case limits.Spend != nil && s.used.Spend+s.reserved.Spend >= *limits.Spend:
		w := &selvage.Waiting{Reason: selvage.WaitLimit, LimitCode: selvage.LimitSpend,
			Current: selvage.Amount(s.used.Spend.String()), Max: selvage.Amount(limits.Spend.String()),
			Message: fmt.Sprintf("the run may spend $%s and has spent $%s", *limits.Spend, s.used.Spend)}
		if s.used.Spend < *limits.Spend {
			w.Reason, w.Current = selvage.WaitBudget, selvage.Amount((s.used.Spend + s.reserved.Spend).String())
			w.Message += fmt.Sprintf("; runs that it spawned have reserved $%s", s.reserved.Spend)
		}
		return w
	case limits.Duration != nil && s.elapsed >= *limits.Duration:
		return &selvage.Waiting{Reason: selvage.WaitLimit, LimitCode: selvage.LimitDuration,
			Current: selvage.Amount(s.elapsed.Round(time.Millisecond).String()), Max: selvage.Amount(limits.Duration.String()),
			Message: fmt.Sprintf("the run may take %s", *limits.Duration)}
	}
	return nil
}

// freed reports whether a run has enough again that waited as runs which it
// spawned had reserved what was left. Its time is not looked at here.
func freed(run *selvage.Run, doc state.Document) (bool, error) {
	children, err := budget.Children(doc, run.ID)
	if err != nil {
		return false, err
	}
	sheet, limits := budget.Sheet{Own: budget.Own(run), Children: children}, run.Bounds()
	limits.Duration = nil
	return reached(&limits, &spending{turns: run.Steps, used: sheet.Total(), reserved: sheet.Reserved()}) == nil, nil
}

// limited looks at the limits of the run between two turns. A run that reached
// one waits; one of which nothing is kept cannot, and is over.
func (x *run) limited(ctx context.Context) (*selvage.Outcome, *selvage.Waiting, error) {
	spent, err := x.spending()
	if err != nil {
		return nil, nil, err
	}
	w := reached(&x.limits, &spent)
	if w != nil && w.Reason == selvage.WaitBudget && !x.stateless {
		if w, err = x.reclaimed(ctx); err != nil {
			return nil, nil, err
		}
	}
	if w == nil || !x.stateless {
		return nil, w, nil
	}
	return &selvage.Outcome{Kind: selvage.OutcomeStopped, Code: stopCodes[w.LimitCode], Detail: w.Message}, nil, nil
}

// reclaimed looks at the limits once more when runs that the run spawned seem to
// hold what is left: some may have ended untold, or never begun.
func (x *run) reclaimed(ctx context.Context) (*selvage.Waiting, error) {
	err := x.book().Reconcile(ctx)
	if err == nil {
		err = x.absorb(ctx)
	}
	x.flush()
	if err != nil {
		return nil, &StateError{ThreadID: x.thread, RunID: x.id, Reason: selvage.ReasonStateEdited, Err: err}
	}
	spent, err := x.spending()
	if err != nil {
		return nil, err
	}
	return reached(&x.limits, &spent), nil
}

// stopCodes are the codes of outcomes of runs that a limit ended.
var stopCodes = map[string]string{selvage.LimitTurns: CodeMaxTurns, selvage.LimitTokens: CodeMaxTokens,
	selvage.LimitSpend: CodeMaxSpend, selvage.LimitDuration: CodeDuration}

// LimitError reports that a run waits because it has reached a limit, which it
// still exceeds. It matches [selvage.ErrInvalid]; nothing was changed.
type LimitError struct {
	RunID   selvage.RunID
	Waiting selvage.Waiting // which limit, by how much, and what it is
}

// CodeLimit is what a [LimitError] is called where errors have names.
const CodeLimit = "limit_still_exceeded"

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s: %s at %s of %s: %s; raise it, for example with --bump %s",
		CodeLimit, e.Waiting.LimitCode, e.Waiting.Current, e.Waiting.Max, e.Waiting.Message, e.Bump())
}

// Is reports whether target is [selvage.ErrInvalid].
func (e *LimitError) Is(target error) bool { return target == selvage.ErrInvalid }

// Bump is what would let the run go on if it was doubled, as [ParseBump] reads
// it.
func (e *LimitError) Bump() string {
	return bumpFor(&e.Waiting)
}
