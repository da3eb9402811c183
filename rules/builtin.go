package rules

import "github.com/selvagehq/selvage/state"

// HighPressure is the part of the window from which it is compacted. It is
// compacted again only after the pressure was below LowPressure meanwhile, so
// that a window that stays full is not compacted at every turn.
const (
	HighPressure = 0.8
	LowPressure  = 0.7
)

// BuiltIn returns the rules of layer 2: what a run does if no rule of layer 1
// says otherwise.
func BuiltIn() []Rule {
	is := func(path string, value state.Value) Condition { return Condition{Path: path, Op: Eq, Value: value} }
	full, _ := state.ParseValue([]byte("0.8")) // HighPressure
	return []Rule{
		{Name: "builtin:abort_cancelled", Layer: BuiltInLayer, Event: Error, When: is("error.class", state.String("cancelled")), Do: Abort},
		// error.again is false once the attempts are used up.
		{Name: "builtin:retry", Layer: BuiltInLayer, Event: Error, When: is("error.again", state.Bool(true)), Do: Retry},
		{Name: "builtin:fail", Layer: BuiltInLayer, Event: Error, Do: Fail},
		{Name: "builtin:escalate_limit", Layer: BuiltInLayer, Event: Limit, Do: Escalate},
		{Name: "builtin:compact", Layer: BuiltInLayer, Event: ContextPressure, Do: Compact,
			When: Condition{All: []Condition{{Path: "pressure.ratio", Op: Gte, Value: full}, is("pressure.rising", state.Bool(true))}}},
	}
}
