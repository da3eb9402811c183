package cli

import (
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/settings"
)

// The price of a well-known model is known at its own provider only, and the
// configuration goes before it.
func TestPrices(t *testing.T) {
	t.Parallel()
	usage := selvage.Usage{InputTokens: 3_000_000, CachedTokens: 1_000_000, CacheWriteTokens: 1_000_000, OutputTokens: 1_000_000}
	for name, tt := range map[string]struct {
		env             map[string]string
		provider, model string
		cost            string // "" if it is not known
	}{
		"listed":                    {nil, "anthropic", "claude-sonnet-4-5", "22.05"},
		"of another provider":       {nil, "openai", "gpt-4.1", "12.5"},
		"at an address of ours":     {map[string]string{"ANTHROPIC_BASE_URL": "http://proxy"}, "anthropic", "claude-sonnet-4-5", ""},
		"not listed":                {nil, "anthropic", "claude-yet-to-come", ""},
		"of a model with that name": {nil, "ollama", "gpt-4.1", ""},
	} {
		conf, err := settings.Load(settings.Inputs{SkipFiles: true, LookupEnv: func(name string) (string, bool) { v, ok := tt.env[name]; return v, ok }})
		if err != nil {
			t.Fatal(err)
		}
		price := (&app{conf: conf}).price(tt.provider, tt.model)
		if cost := ""; price != nil || tt.cost != "" {
			if price != nil {
				cost = price.Cost(usage).String()
			}
			if cost != tt.cost {
				t.Errorf("%s: it costs %q, want %q", name, cost, tt.cost)
			}
		}
	}
}
