package runner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/rules"
)

// maxRulesBytes bounds the rules of a run, in bytes of JSON: they are recorded
// with it.
const maxRulesBytes = 64 << 10

// ruleset is the rules of a run. The zero ruleset has none.
type ruleset struct {
	own      *rules.Set      // of the user
	all      *rules.Set      // with the built-in ones
	recorded json.RawMessage // the user's, as a run records them; nil if there are none
}

// newRuleset checks rules. The error matches [selvage.ErrInvalid].
func newRuleset(list []rules.Rule) (ruleset, error) {
	var s ruleset
	var err error
	if s.own, err = rules.Compile(list); err != nil {
		return s, err
	}
	if s.all, err = rules.Compile(append(slices.Clone(list), rules.BuiltIn()...)); err != nil || len(list) == 0 {
		return s, err
	}
	if s.recorded, err = json.Marshal(list); err != nil {
		return s, &selvage.InvalidError{Field: "Rules", Reason: err.Error()}
	}
	if len(s.recorded) > maxRulesBytes {
		return s, &selvage.InvalidError{Field: "Rules", Reason: fmt.Sprintf("they take %d bytes, and at most %d are recorded with a run", len(s.recorded), maxRulesBytes)}
	}
	return s, nil
}

// rulesOf are the rules that a run recorded, whatever those of this runner are.
func (r *Runner) rulesOf(spec *selvage.RunSpec) (ruleset, error) {
	if bytes.Equal(spec.Rules, r.rules.recorded) {
		return r.rules, nil
	}
	var list []rules.Rule
	if len(spec.Rules) > 0 {
		d := json.NewDecoder(bytes.NewReader(spec.Rules))
		d.DisallowUnknownFields() // what is not understood may be what matters
		if err := d.Decode(&list); err != nil {
			return ruleset{}, err
		}
	}
	return newRuleset(list)
}
