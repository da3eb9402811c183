package cli

import (
	"fmt"
	"slices"
	"strings"
)

// checkModels tells which providers have a key, and whether the model that is
// configured has what it needs. Nothing is asked of any provider.
func (a *app) checkModels() finding {
	var have []string
	for _, provider := range keyed() {
		if key := a.conf.Get("providers." + provider + ".api_key"); key.Text != "" {
			have = append(have, fmt.Sprintf("%s (%s)", provider, key.Where))
		}
	}
	chosen := a.conf.Get("model")
	if chosen.Text != "" {
		if _, err := a.openModel(chosen.Text); err != nil {
			return finding{"models", worth, fmt.Sprintf("%s: %v", chosen.Where, err), classify(err).hint}
		}
	}
	switch {
	case len(have) == 0 && chosen.Text != "":
		return finding{"models", fine, chosen.Text + "; no provider has a key", ""}
	case len(have) == 0:
		var variables []string
		for _, provider := range keyed() {
			variables = append(variables, strings.ToUpper(provider)+"_API_KEY")
		}
		return finding{"models", fine, fmt.Sprintf("no provider has a key (%s); %s answers", strings.Join(variables, ", "), fallbackModel), ""}
	}
	detail := "keys: " + strings.Join(have, ", ")
	if p, _, _ := strings.Cut(chosen.Text, "/"); chosen.Text != "" && !slices.Contains(keyed(), p) {
		detail += "; the model is " + chosen.Text
	}
	return finding{"models", fine, detail, ""}
}
