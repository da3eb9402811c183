package runner

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
)

// Bump raises one limit of a run.
type Bump struct {
	Limit string // turns, tokens, spend, spawns, depth or duration
	By    bool   // the amount is added to the limit; otherwise it is the new one
	// Amount is a count, nano-dollars of spend, or nanoseconds of duration.
	Amount int64
}

// limitNames are the limits that can be raised.
var limitNames = []string{"turns", "tokens", "spend", "spawns", "depth", "duration"}

// ParseBump reads how a limit is to be raised: by an amount, as in "turns=+10",
// "tokens=+1000", "spend=+0.50", "spawns=+2", "depth=+1" and "duration=+5m", or
// to one, as in "turns=40". The error matches [selvage.ErrInvalid].
func ParseBump(text string) (Bump, error) {
	name, amount, ok := strings.Cut(text, "=")
	b := Bump{Limit: strings.TrimSpace(name)}
	bad := func(format string, args ...any) (Bump, error) {
		return Bump{}, &selvage.InvalidError{Field: "bump", Reason: fmt.Sprintf("%q: ", text) + fmt.Sprintf(format, args...)}
	}
	if !ok {
		return bad("say which limit and by how much, as in turns=+10")
	}
	amount, b.By = strings.CutPrefix(strings.TrimSpace(amount), "+")
	if strings.Contains(amount, "+") {
		return bad("%q is not an amount", amount)
	}
	var err error
	switch b.Limit {
	case "turns", "tokens", "spawns", "depth":
		b.Amount, err = strconv.ParseInt(amount, 10, 64)
		if err != nil {
			return bad("%q is not a whole number", amount)
		}
	case "spend":
		var m selvage.Money
		if m, err = selvage.ParseMoney(amount); err != nil {
			return bad("%q is not an amount of dollars such as 0.50", amount)
		}
		b.Amount = int64(m)
	case "duration":
		var d time.Duration
		if d, err = time.ParseDuration(amount); err != nil {
			return bad("%q is not a duration such as 5m", amount)
		}
		b.Amount = int64(d)
	default:
		return bad("%q is not a limit; there are %s", b.Limit, strings.Join(limitNames, ", "))
	}
	if b.Amount < 0 || b.Amount == 0 && b.By {
		return bad("a limit is only raised")
	}
	return b, nil
}

// raise returns limits as the bumps make them. Only a limit that there is can be
// raised, and only upwards.
func raise(limits selvage.Limits, bumps []Bump) (selvage.Limits, error) {
	limits = limits.Clone()
	for _, b := range bumps {
		if err := b.raise(&limits); err != nil {
			return limits, err
		}
	}
	return limits, nil
}

func (b Bump) raise(l *selvage.Limits) error {
	switch b.Limit {
	case "turns":
		return lift(b, l.Turns)
	case "tokens":
		return lift(b, l.Tokens)
	case "spend":
		return lift(b, l.Spend)
	case "spawns":
		return lift(b, l.Spawns)
	case "depth":
		return lift(b, l.Depth)
	case "duration":
		return lift(b, l.Duration)
	}
	return &selvage.InvalidError{Field: "bump", Reason: fmt.Sprintf("%q is not a limit; there are %s", b.Limit, strings.Join(limitNames, ", "))}
}

// lift raises one limit.
func lift[T ~int | ~int64](b Bump, limit *T) error {
	if limit == nil {
		return &selvage.InvalidError{Field: "bump", Reason: fmt.Sprintf("the run has no limit of %s, so there is nothing to raise", b.Limit)}
	}
	to := b.Amount
	if b.By {
		if b.Amount > math.MaxInt64-int64(*limit) {
			return &selvage.InvalidError{Field: "bump", Reason: fmt.Sprintf("%s cannot be raised that far", b.Limit)}
		}
		to += int64(*limit)
	}
	if to < int64(*limit) || int64(T(to)) != to {
		return &selvage.InvalidError{Field: "bump", Reason: fmt.Sprintf("the limit of %s is %v already; a limit is only raised", b.Limit, *limit)}
	}
	*limit = T(to)
	return nil
}

// bumpFor is the bump that doubles the limit that a run has reached, or as much
// as lets it go on.
func bumpFor(w *selvage.Waiting) string {
	name, limit, current := amounts(w)
	return name + "=+" + amountOf(name, max(limit, beyond(limit, current, 1)-limit, 1))
}

// beyond multiplies a limit, to the most there is, and to more than what was
// used in any case.
func beyond(limit, current, factor int64) int64 {
	if limit > math.MaxInt64/factor {
		return math.MaxInt64
	}
	return max(limit*factor, min(current, math.MaxInt64-1)+1)
}

// amounts are the name of the limit that a run has reached, what it is, and
// what was used.
func amounts(w *selvage.Waiting) (name string, limit, current int64) {
	name = strings.TrimSuffix(w.LimitCode, "_exceeded")
	amount := func(a selvage.Amount) int64 {
		b, err := ParseBump(name + "=" + string(a))
		if err != nil {
			return 0
		}
		return b.Amount
	}
	return name, amount(w.Max), amount(w.Current)
}

// amountOf is an amount of a limit as [ParseBump] reads it.
func amountOf(limit string, amount int64) string {
	switch limit {
	case "spend":
		return selvage.Money(amount).String()
	case "duration":
		return time.Duration(amount).String()
	}
	return strconv.FormatInt(amount, 10)
}
