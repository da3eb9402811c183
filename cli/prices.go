package cli

import (
	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/settings"
	"github.com/selvagehq/selvage/model"
)

// listed are prices of well-known models at their own provider, as its price
// list had them in November 2026: cents a million tokens of input, of output
// and of input from the cache. A model whose price depends on anything else is
// not among them.
func listed() map[string][3]selvage.Money {
	return map[string][3]selvage.Money{
		"anthropic/claude-haiku-4-5":  {100, 500, 10},
		"anthropic/claude-opus-4-5":   {500, 2500, 50},
		"anthropic/claude-opus-4-6":   {500, 2500, 50},
		"anthropic/claude-opus-4-7":   {500, 2500, 50},
		"anthropic/claude-opus-4-8":   {500, 2500, 50},
		"anthropic/claude-opus-5":     {500, 2500, 50},
		"anthropic/claude-sonnet-4-5": {300, 1500, 30},
		"anthropic/claude-sonnet-4-6": {300, 1500, 30},
		"openai/gpt-4.1":              {200, 800, 50},
	}
}

const cent = selvage.Dollar / 100

// price is what a model costs: what the configuration says, else what is listed,
// if it is asked at its own provider; nil if neither knows.
func (a *app) price(provider, name string) *model.Price {
	name = provider + "/" + name
	p, known := a.configuredPrice(name)
	if !known && !a.conf.Get("providers."+provider+".base_url").Set() {
		var cents [3]selvage.Money
		if cents, known = listed()[name]; known {
			cached := cents[2] * cent
			p = model.Price{Input: cents[0] * cent, Output: cents[1] * cent, CachedInput: &cached}
		}
	}
	if !known {
		return nil
	}
	if provider == "anthropic" && p.CacheWrite == nil {
		written := p.Input + p.Input/4
		p.CacheWrite = &written
	}
	return &p
}

// configuredPrice is what the configuration says a model costs, and whether it
// says so.
func (a *app) configuredPrice(name string) (p model.Price, known bool) {
	amount := func(of string) *selvage.Money {
		v := a.conf.Get("prices." + name + "." + of)
		if !v.Set() {
			return nil
		}
		m, _ := settings.ParseDollars(v.Text) // it was checked when it was read
		return &m
	}
	// What was not given is zero.
	if input := amount("input"); input != nil {
		p.Input, known = *input, true
	}
	if output := amount("output"); output != nil {
		p.Output, known = *output, true
	}
	p.CachedInput, p.CacheWrite = amount("cached_input"), amount("cache_write")
	return p, known
}
