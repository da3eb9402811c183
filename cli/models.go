package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/selvagehq/selvage/internal/settings"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/openai"
	"github.com/selvagehq/selvage/model/sim"
)

// fallbackModel answers when nothing else can.
const fallbackModel = "sim/echo"

// keyed are the providers that take a key, in the order people are shown them.
func keyed() []string { return []string{"openai", "anthropic", "gemini"} }

// providers are all that --model may name.
func providers() []string { return append(keyed(), "ollama", "vllm", "sim") }

// openModel makes the model that a name stands for. Nothing is asked of it yet.
func (a *app) openModel(name string) (model.Model, error) {
	provider, rest, ok := strings.Cut(name, "/")
	if !ok && strings.HasPrefix(name, "replay:") {
		return nil, usage("", "replay is not offered yet")
	}
	if !ok || rest == "" {
		return nil, usage("for example openai/gpt-5-mini or sim/echo", "model %q is not PROVIDER/NAME", name)
	}
	if !slices.Contains(providers(), provider) {
		hint := "providers are " + strings.Join(providers(), ", ")
		if nearest := settings.Nearest(provider, providers()); nearest != "" {
			hint = fmt.Sprintf("did you mean %s/%s?", nearest, rest)
		}
		return nil, usage(hint, "model %q: there is no provider %q", name, provider)
	}
	price := a.price(name)
	if provider == "sim" {
		m, err := sim.New(rest)
		switch {
		case err != nil:
			return nil, err
		case price != nil:
			return m.WithPrice(*price), nil
		}
		return m, nil
	}
	return a.openService(provider, rest, price)
}

// openModels makes the model of a run, and after it those it falls back on.
func (a *app) openModels(m *makeup) ([]model.Model, error) {
	var models []model.Model
	for i, name := range append([]string{m.model}, m.fallbacks...) {
		if i > 0 && name == m.model {
			continue // it was chosen to be the first
		}
		opened, err := a.openModel(name)
		if err != nil {
			return nil, err
		}
		models = append(models, opened)
	}
	return models, nil
}

// openService makes a model of a service that speaks the protocol that all of
// them offer.
func (a *app) openService(provider, name string, price *model.Price) (model.Model, error) {
	key, base := a.conf.Get("providers."+provider+".api_key"), a.conf.Get("providers."+provider+".base_url")
	if key.Text == "" && !base.Set() && slices.Contains(keyed(), provider) {
		variable := strings.ToUpper(provider) + "_API_KEY"
		return nil, &failure{exit: exitUnauthorised, class: "unauthorised", err: fmt.Errorf("model %s/%s needs a key, and %s is not set", provider, name, variable),
			hint: fmt.Sprintf("export %s=..., or choose --model %s, which needs none", variable, fallbackModel)}
	}
	m, err := openai.New(openai.Options{Model: name, Provider: provider, BaseURL: base.Text, APIKey: key.Text, Price: price,
		Continues: provider == "vllm"})
	return m, hinted(err, "`"+a.name+" config show` tells where its settings come from")
}

// price is what the configuration says a model costs; nil if nothing.
func (a *app) price(name string) *model.Price {
	input, output := a.conf.Get("prices."+name+".input"), a.conf.Get("prices."+name+".output")
	cached := a.conf.Get("prices." + name + ".cached_input")
	if !input.Set() && !output.Set() {
		return nil
	}
	// The texts were checked when they were read; what was not given is zero.
	var p model.Price
	if input.Set() {
		p.Input, _ = settings.ParseDollars(input.Text)
	}
	if output.Set() {
		p.Output, _ = settings.ParseDollars(output.Text)
	}
	if cached.Set() {
		c, _ := settings.ParseDollars(cached.Text)
		p.CachedInput = &c
	}
	return &p
}

// simulated reports whether a model only pretends.
func simulated(name string) bool { return strings.HasPrefix(name, "sim/") }

// choice is a model that nobody named, and why it was taken.
type choice struct {
	model    string
	variable string // the key that decided; "" if none did
}

// choose takes the provider whose key is the only one there is, or falls back.
func (a *app) choose() (choice, error) {
	var found []choice
	for _, provider := range keyed() {
		key := a.conf.Get("providers." + provider + ".api_key")
		if key.Text != "" {
			found = append(found, choice{model: provider + "/" + a.conf.Get("providers."+provider+".model").Text, variable: key.Where})
		}
	}
	switch len(found) {
	case 0:
		return choice{model: fallbackModel}, nil
	case 1:
		return found[0], nil
	}
	var models, variables []string
	for _, c := range found {
		models, variables = append(models, "--model "+c.model), append(variables, c.variable)
	}
	return choice{}, usage("choose one: "+strings.Join(models, " or "), "no model is chosen, and there are several keys (%s)", strings.Join(variables, ", "))
}
