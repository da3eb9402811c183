package runner

import (
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
)

// candidate is a model that may answer, and what its tokens cost.
type candidate struct {
	model model.Model
	price model.Price
}

// newChain returns the models of a runner in the order in which they are asked.
func newChain(opts *Options) ([]candidate, error) {
	chain := []candidate{{model: opts.Model, price: priceOf(opts.Model)}}
	if opts.Price != nil {
		chain[0].price = *opts.Price
	}
	seen := map[string]bool{opts.Model.Name(): true}
	for i, m := range opts.Fallbacks {
		if m == nil {
			return nil, &selvage.InvalidError{Field: fmt.Sprintf("Fallbacks[%d]", i), Reason: "there is no model"}
		}
		if seen[m.Name()] {
			return nil, &selvage.InvalidError{Field: fmt.Sprintf("Fallbacks[%d]", i), Reason: fmt.Sprintf("model %s is asked before already; name it once", m.Name())}
		}
		seen[m.Name()] = true
		chain = append(chain, candidate{m, priceOf(m)})
	}
	return chain, nil
}

// priceOf is what a model says it costs: nothing if it does not know.
func priceOf(m model.Model) model.Price {
	if p, ok := m.(model.Pricer); ok {
		price, _ := p.Price()
		return price
	}
	return model.Price{}
}

// fallbacks names the models after the first.
func fallbacks(chain []candidate) []string {
	var names []string
	for _, c := range chain[1:] {
		names = append(names, c.model.Name())
	}
	return names
}

// named returns the candidate of a name, or nil.
func (r *Runner) named(name string) *candidate {
	for i := range r.chain {
		if r.chain[i].model.Name() == name {
			return &r.chain[i]
		}
	}
	return nil
}

// chainOf returns the models that a run recorded, as far as they are here.
func (r *Runner) chainOf(spec *selvage.RunSpec) []candidate {
	chain := r.chain[:1:1]
	for _, name := range spec.Fallbacks {
		if c := r.named(name); c != nil {
			chain = append(chain, *c)
		}
	}
	return chain
}
