package budget

import (
	"fmt"

	"github.com/selvagehq/selvage"
)

// RefusedError reports that a run has not left what a child asked for. It
// matches [selvage.ErrInvalid]; nothing was reserved.
type RefusedError struct {
	Run     selvage.RunID  // whose budget it is
	Code    string         // [selvage.LimitSpend], [selvage.LimitTokens] or [selvage.LimitSpawns]
	Current selvage.Amount // spent and reserved
	Max     selvage.Amount
	Asked   selvage.Amount // empty: what is left, and nothing is
}

func (e *RefusedError) Error() string {
	what, unit := "run", ""
	switch e.Code {
	case selvage.LimitSpend:
		what, unit = "spend", "$"
	case selvage.LimitTokens:
		what = "use tokens up to"
	case selvage.LimitSpawns:
		return fmt.Sprintf("%s: the run may spawn %s runs and has spawned %s", e.Code, e.Max, e.Current)
	}
	asked := "nothing is left"
	if e.Asked != "" {
		asked = fmt.Sprintf("%s%s was asked for", unit, e.Asked)
	}
	return fmt.Sprintf("%s: the run may %s %s%s, of which %s%s is spent or reserved, and %s", e.Code, what, unit, e.Max, unit, e.Current, asked)
}

// Is reports whether target is [selvage.ErrInvalid].
func (e *RefusedError) Is(target error) bool { return target == selvage.ErrInvalid }

// grant decides what a child that asks is given, besides what it holds
// already.
func (s Sheet) grant(run selvage.RunID, ask Bounds, holds Amount) (Bounds, error) {
	left := s.Left()
	given := Bounds{Spend: ask.Spend, Tokens: ask.Tokens}
	if free := left.Spend; free != nil {
		*free += holds.Spend
		current := selvage.Amount((*s.Max.Spend - *free).String())
		refused := &RefusedError{Run: run, Code: selvage.LimitSpend, Current: current, Max: selvage.Amount(s.Max.Spend.String())}
		switch {
		case ask.Spend == nil && *free <= 0:
			return Bounds{}, refused
		case ask.Spend == nil:
			given.Spend = free
		case *ask.Spend > *free:
			refused.Asked = selvage.Amount(ask.Spend.String())
			return Bounds{}, refused
		}
	}
	if free := left.Tokens; free != nil {
		*free += holds.Tokens
		refused := &RefusedError{Run: run, Code: selvage.LimitTokens, Current: selvage.Count(*s.Max.Tokens - *free), Max: selvage.Count(*s.Max.Tokens)}
		switch {
		case ask.Tokens == nil && *free <= 0:
			return Bounds{}, refused
		case ask.Tokens == nil:
			given.Tokens = free
		case *ask.Tokens > *free:
			refused.Asked = selvage.Count(*ask.Tokens)
			return Bounds{}, refused
		}
	}
	return given, nil
}
