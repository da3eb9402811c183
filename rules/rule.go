package rules

import "github.com/selvagehq/selvage/state"

// Event is a point of a run at which rules are asked.
type Event string

// The events, and the facts they come with besides those that all have (run
// and state).
const (
	RunStarted      Event = "run_started"
	BeforeStep      Event = "before_step"      // before the model is asked
	AfterStep       Event = "after_step"       // its answer is there: reply
	Error           Event = "error"            // a request to the model failed: error
	Limit           Event = "limit"            // a limit was reached: limit
	ContextPressure Event = "context_pressure" // much of the window is used: pressure
	Completed       Event = "completed"        // the model has nothing more to do: reply, outcome
)

// Layer is where a rule stands among the others.
type Layer int

// The layers, in the order in which they are asked.
const (
	Directive      Layer = 1 // of the user; what 0 means
	BuiltInLayer   Layer = 2 // of the runner
	Infrastructure Layer = 3 // told of everything, and decides nothing
)

// Action is what a rule wants done. The empty action is none: the rule only
// tells.
type Action string

// The actions.
const (
	Retry    Action = "retry"    // ask the model again
	Fail     Action = "fail"     // end the run as failed
	Abort    Action = "abort"    // end the run as cancelled
	Continue Action = "continue" // go on, after an error too; rules after this one are not asked
	Skip     Action = "skip"     // leave out what was about to happen
	Suspend  Action = "suspend"  // make the run wait
	Escalate Action = "escalate" // make the run wait for people to raise its limit
	Compact  Action = "compact"  // summarise what no longer fits into the window
)

// Rule is one rule. In JSON it is what [Parse] reads, too.
type Rule struct {
	// Name is what people call it. No two rules share one.
	Name string `json:"name"`
	// Layer 0 is [Directive].
	Layer Layer `json:"layer,omitempty"`
	Event Event `json:"event"`
	// When says of which facts it holds. The zero Condition holds always.
	When Condition `json:"when,omitzero"`
	// Do may be empty, and is in layer 3.
	Do Action `json:"do,omitempty"`
	// Params say how, depending on the action. In their values ${dotted.path}
	// stands for a fact, and for nothing if there is no such fact.
	Params map[string]string `json:"params,omitempty"`
}

// Op compares a fact with a value.
type Op string

// The operators. A fact that is not there is null.
const (
	Eq       Op = "eq" // equal as JSON; numbers by their exact value
	Ne       Op = "ne"
	Gt       Op = "gt" // of two numbers or two texts; nothing else compares
	Gte      Op = "gte"
	Lt       Op = "lt"
	Lte      Op = "lte"
	In       Op = "in"       // the value is a list, and the fact equals one of it
	Contains Op = "contains" // the fact is a text, list or object that has the value in it
	Regex    Op = "regex"    // the fact is a text that the value matches somewhere
	Exists   Op = "exists"   // the fact is not null, or is if the value is false
)

// Condition is a comparison, or a combination of conditions: just one of Op,
// All, Any and Not is set, or none, which always holds.
type Condition struct {
	// Path is the way to the fact: keys and indexes joined by dots, or an
	// RFC 6901 pointer, which begins with a slash.
	Path  string      `json:"path,omitempty"`
	Op    Op          `json:"op,omitempty"`
	Value state.Value `json:"value,omitzero"`

	All []Condition `json:"all,omitzero"`
	Any []Condition `json:"any,omitzero"`
	Not *Condition  `json:"not,omitempty"`
}

// ops, events and layers are the names in use, for those who look one up.
var (
	ops    = []string{string(Eq), string(Ne), string(Gt), string(Gte), string(Lt), string(Lte), string(In), string(Contains), string(Regex), string(Exists)}
	events = []string{string(RunStarted), string(BeforeStep), string(AfterStep), string(Error), string(Limit), string(ContextPressure), string(Completed)}
)

// actions are what can be done at each event.
var actions = map[Event][]string{
	RunStarted:      {string(Continue), string(Skip), string(Fail), string(Abort), string(Suspend)},
	BeforeStep:      {string(Continue), string(Skip), string(Fail), string(Abort), string(Suspend)},
	AfterStep:       {string(Continue), string(Fail), string(Abort), string(Suspend)},
	Error:           {string(Retry), string(Fail), string(Abort), string(Continue), string(Skip), string(Suspend)},
	Limit:           {string(Suspend), string(Escalate), string(Fail), string(Abort)},
	ContextPressure: {string(Compact), string(Skip), string(Continue), string(Fail), string(Abort), string(Suspend)},
	Completed:       {string(Continue), string(Fail)},
}

// params are what each action can be told. All of them can be told a message:
// for people, and with continue for the model.
var params = map[Action][]string{
	"":       {"message"},
	Retry:    {"attempts", "wait", "message"},
	Fail:     {"code", "message"},
	Abort:    {"code", "message"},
	Continue: {"message"},
	Skip:     {"message"},
	Suspend:  {"reason", "message"},
	Escalate: {"factor", "amount", "ceiling", "message"},
	Compact:  {"message"},
}
