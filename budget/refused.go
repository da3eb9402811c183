package budget

import (
	"fmt"

	"github.com/selvagehq/selvage"
)

// RefusedError reports that a run has not left what a child asked for. It
// matches [selvage.ErrInvalid]; nothing was reserved.
type RefusedError struct {
	Run     selvage.RunID  // whose budget it is
	Code    string         // of the limit, such as [selvage.LimitSpend]
	Current selvage.Amount // spent and reserved
	Max     selvage.Amount
	Asked   selvage.Amount // empty: what is left, and nothing is
}

func (e *RefusedError) Error() string {
	var what, unit string
	switch e.Code {
	case selvage.LimitSpend:
		what, unit = "spend", "$"
	case selvage.LimitTokens:
		what = "use tokens up to"
	case selvage.LimitSpawns:
		return fmt.Sprintf("%s: the run may spawn %s runs and has spawned %s", e.Code, e.Max, e.Current)
	case selvage.LimitDepth:
		return fmt.Sprintf("%s: %s generations may be below the run, so it may spawn none", e.Code, e.Max)
	default:
		return fmt.Sprintf("%s: %s of %s is used, so nothing is left for a run to spawn", e.Code, e.Current, e.Max)
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
func (s Sheet) grant(run selvage.RunID, ask, atMost Bounds, holds Amount) (Bounds, error) {
	left := s.Left()
	spend, ok := share(ask.Spend, atMost.Spend, left.Spend, holds.Spend)
	if !ok {
		refused := &RefusedError{Run: run, Code: selvage.LimitSpend, Max: selvage.Amount(s.Max.Spend.String()),
			Current: selvage.Amount((*s.Max.Spend - *left.Spend - holds.Spend).String())}
		if ask.Spend != nil {
			refused.Asked = selvage.Amount(ask.Spend.String())
		}
		return Bounds{}, refused
	}
	tokens, ok := share(ask.Tokens, atMost.Tokens, left.Tokens, holds.Tokens)
	if !ok {
		refused := &RefusedError{Run: run, Code: selvage.LimitTokens, Max: selvage.Count(*s.Max.Tokens),
			Current: selvage.Count(*s.Max.Tokens - *left.Tokens - holds.Tokens)}
		if ask.Tokens != nil {
			refused.Asked = selvage.Count(*ask.Tokens)
		}
		return Bounds{}, refused
	}
	return Bounds{Spend: spend, Tokens: tokens}, nil
}

// share is what a child is given of one thing, and whether there is enough. It
// keeps what it holds in place of asking for it anew.
func share[T ~int64](ask, atMost, left *T, holds T) (*T, bool) {
	switch {
	case left == nil && ask == nil:
		return atMost, true
	case left == nil:
		return ask, true
	case ask != nil:
		return ask, *ask <= *left+holds
	}
	free := *left + holds
	if atMost != nil {
		free = min(free, *atMost)
	}
	return &free, *left+holds > 0
}
