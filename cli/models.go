package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/selvagehq/selvage/internal/settings"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/anthropic"
	"github.com/selvagehq/selvage/model/openai"
	"github.com/selvagehq/selvage/model/replay"
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
	if path, is := strings.CutPrefix(name, replay.Scheme); is {
		return a.openRecording(path)
	}
	provider, rest, ok := strings.Cut(name, "/")
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
	price := a.price(provider, rest)
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
		if opened, err = a.recorded(opened); err != nil {
			return nil, err
		}
		models = append(models, opened)
	}
	return models, nil
}

// openService makes a model of a service: Anthropic's, or one that speaks the
// protocol that all others offer.
func (a *app) openService(provider, name string, price *model.Price) (model.Model, error) {
	key, base := a.conf.Get("providers."+provider+".api_key"), a.conf.Get("providers."+provider+".base_url")
	if key.Text == "" && !base.Set() && slices.Contains(keyed(), provider) {
		variable := strings.ToUpper(provider) + "_API_KEY"
		return nil, &failure{exit: exitUnauthorised, class: "unauthorised", err: fmt.Errorf("model %s/%s needs a key, and %s is not set", provider, name, variable),
			hint: fmt.Sprintf("export %s=..., or choose --model %s, which needs none", variable, fallbackModel)}
	}
	var m model.Model
	var err error
	if provider == "anthropic" {
		var thinking anthropic.Thinking
		if thinking, err = a.thinking(); err != nil {
			return nil, err
		}
		m, err = anthropic.New(anthropic.Options{Model: name, BaseURL: base.Text, APIKey: key.Text, Price: price,
			Thinking: thinking, Cache: a.conf.Get("providers.anthropic.cache").Text == "on"})
	} else {
		m, err = openai.New(openai.Options{Model: name, Provider: provider, BaseURL: base.Text, APIKey: key.Text, Price: price,
			Continues: provider == "vllm"})
	}
	if err != nil {
		return nil, hinted(err, "`"+a.name+" config show` tells where its settings come from")
	}
	return m, nil
}

// thinking is how the configuration lets Anthropic's models think.
func (a *app) thinking() (anthropic.Thinking, error) {
	v := a.conf.Get("providers.anthropic.thinking")
	switch v.Text {
	case "", "default":
		return anthropic.Thinking{}, nil
	case "adaptive":
		return anthropic.Thinking{Adaptive: true}, nil
	}
	n, err := settings.ParseNumber(v.Text)
	if err != nil {
		return anthropic.Thinking{}, usage("adaptive is for the models since Claude 4.6, a number of tokens from 1024 on for those before",
			"%s: providers.anthropic.thinking is adaptive or a number of tokens, not %q", v.Where, v.Text)
	}
	return anthropic.Thinking{Tokens: n}, nil
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
