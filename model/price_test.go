package model_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
)

func TestCost(t *testing.T) {
	t.Parallel()
	free, cheap, dear := selvage.Money(0), selvage.Money(100_000_000), selvage.Money(1_250_000_000)
	tests := map[string]struct {
		price model.Price
		usage selvage.Usage
		want  string
	}{
		"nothing":             {model.Price{Input: selvage.Dollar}, selvage.Usage{}, "0"},
		"a million of each":   {model.Price{Input: selvage.Dollar, Output: 8 * selvage.Dollar}, selvage.Usage{InputTokens: 1e6, OutputTokens: 1e6}, "9"},
		"a micro-dollar each": {model.Price{Input: selvage.Dollar, Output: 2 * selvage.Dollar}, selvage.Usage{InputTokens: 3, OutputTokens: 2}, "0.000007"},
		// 499 999 millionths of a nano-dollar are less than half of one, 500 000 are not.
		"just below half":               {model.Price{Input: 499_999}, selvage.Usage{InputTokens: 1}, "0"},
		"half rounds up":                {model.Price{Input: 500_000}, selvage.Usage{InputTokens: 1}, "0.000000001"},
		"rounded once":                  {model.Price{Input: 250_000, Output: 250_000}, selvage.Usage{InputTokens: 1, OutputTokens: 1}, "0.000000001"},
		"cached at the input's price":   {model.Price{Input: selvage.Dollar}, selvage.Usage{InputTokens: 1e6, CachedTokens: 5e5}, "1"},
		"cached at its own":             {model.Price{Input: selvage.Dollar, CachedInput: &cheap}, selvage.Usage{InputTokens: 1e6, CachedTokens: 5e5}, "0.55"},
		"cached for free":               {model.Price{Input: selvage.Dollar, CachedInput: &free}, selvage.Usage{InputTokens: 1e6, CachedTokens: 1e6}, "0"},
		"written at the input's price":  {model.Price{Input: selvage.Dollar, CachedInput: &free}, selvage.Usage{InputTokens: 1e6, CacheWriteTokens: 5e5}, "1"},
		"written at its own":            {model.Price{Input: selvage.Dollar, CacheWrite: &dear}, selvage.Usage{InputTokens: 1e6, CacheWriteTokens: 5e5}, "1.125"},
		"cached and written":            {model.Price{Input: selvage.Dollar, CachedInput: &cheap, CacheWrite: &dear}, selvage.Usage{InputTokens: 1e6, CachedTokens: 5e5, CacheWriteTokens: 4e5}, "0.65"},
		"more of both than there is":    {model.Price{Input: selvage.Dollar, CachedInput: &cheap, CacheWrite: &dear}, selvage.Usage{InputTokens: 1e6, CachedTokens: 5e5, CacheWriteTokens: 9e6}, "0.675"},
		"more cached than there is":     {model.Price{Input: selvage.Dollar, CachedInput: &cheap}, selvage.Usage{InputTokens: 1e6, CachedTokens: 9e6}, "0.1"},
		"reasoning is part of output":   {model.Price{Output: selvage.Dollar}, selvage.Usage{OutputTokens: 1e6, ReasoningTokens: 9e5}, "1"},
		"below zero is zero":            {model.Price{Input: selvage.Dollar, Output: selvage.Dollar}, selvage.Usage{InputTokens: -5, OutputTokens: -5, CachedTokens: -5}, "0"},
		"too much is the most there is": {model.Price{Input: math.MaxInt64}, selvage.Usage{InputTokens: math.MaxInt64}, selvage.Money(math.MaxInt64).String()},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tt.price.Cost(tt.usage).String(); got != tt.want {
				t.Errorf("cost of %+v is %s, want %s", tt.usage, got, tt.want)
			}
		})
	}
}

// Rounding never moves a cost by more than half a nano-dollar, and more tokens
// never cost less.
func TestCostProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		price := model.Price{
			Input:  selvage.Money(rapid.Int64Range(0, 1e9).Draw(t, "input")),
			Output: selvage.Money(rapid.Int64Range(0, 1e9).Draw(t, "output")),
		}
		u := selvage.Usage{
			InputTokens:  rapid.Int64Range(0, 1e6).Draw(t, "in"),
			OutputTokens: rapid.Int64Range(0, 1e6).Draw(t, "out"),
		}
		exact := u.InputTokens*int64(price.Input) + u.OutputTokens*int64(price.Output) // in millionths, at most 2e15
		cost := price.Cost(u)
		if off := int64(cost)*1_000_000 - exact; off > 500_000 || off <= -500_000 {
			t.Fatalf("cost %d is %d millionths off", cost, off)
		}
		more := u
		more.OutputTokens++
		if price.Cost(more) < cost {
			t.Fatalf("one more token costs %d instead of %d", price.Cost(more), cost)
		}
	})
}
