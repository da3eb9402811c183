package model

import (
	"math"
	"math/big"

	"github.com/selvagehq/selvage"
)

// Price is what tokens cost, each amount for a million of them, which is how
// providers quote it and keeps prices below a nano-dollar a token exact.
type Price struct {
	Input  selvage.Money `json:"input"`
	Output selvage.Money `json:"output"`
	// CachedInput is the price of input that the provider had cached. Nil is
	// the price of other input.
	CachedInput *selvage.Money `json:"cached_input,omitempty"`
	// CacheWrite is the price of input that the provider put into its cache. Nil is
	// the price of other input.
	CacheWrite *selvage.Money `json:"cache_write,omitempty"`
}

// perMillion divides a price by million tokens into the price of one.
const perMillion = 1_000_000

// Cost returns what u costs. The sum is exact and rounded once, half up, to a
// nano-dollar. Tokens of the cache are part of the input and reasoning tokens of
// the output, so none is counted twice; counts below zero are zero, and more of
// the cache than input is all of it. What does not fit in [selvage.Money] is the
// greatest amount that does, so that a budget trips rather than wraps.
func (p Price) Cost(u selvage.Usage) selvage.Money {
	input := max(u.InputTokens, 0)
	cached := min(max(u.CachedTokens, 0), input)
	written := min(max(u.CacheWriteTokens, 0), input-cached)
	var sum big.Int
	add := func(tokens int64, price *selvage.Money) {
		if price == nil {
			price = &p.Input
		}
		sum.Add(&sum, new(big.Int).Mul(big.NewInt(tokens), big.NewInt(int64(*price))))
	}
	add(input-cached-written, &p.Input)
	add(cached, p.CachedInput)
	add(written, p.CacheWrite)
	add(max(u.OutputTokens, 0), &p.Output)

	// Div floors, so adding half of the divisor first rounds half up.
	sum.Add(&sum, big.NewInt(perMillion/2))
	sum.Div(&sum, big.NewInt(perMillion))
	switch {
	case sum.IsInt64():
		return selvage.Money(sum.Int64())
	case sum.Sign() < 0:
		return math.MinInt64
	default:
		return math.MaxInt64
	}
}
