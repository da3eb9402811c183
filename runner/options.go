package runner

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/rules"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/tool"
)

// The defaults of [Options].
const (
	DefaultMaxTurns    = 25
	DefaultMaxChildren = 8
	DefaultLeaseTTL    = 30 * time.Second
	DefaultGrace       = 10 * time.Second
)

// Options configures [New]. Only Model is needed; without Store a runner can
// only ask.
type Options struct {
	// Store keeps the threads. It must offer [selvage.Leaser]. The runner does
	// not close it.
	Store selvage.Store

	// Model answers.
	Model model.Model

	// Fallbacks answer, in this order, when the attempts of the model before
	// are used up, or at once when its quota is. Each answers at its own price.
	// A run records their names.
	Fallbacks []model.Model

	// System is the instruction that precedes every context; may be empty.
	System string

	// Tools are what the model may call. No two share a name.
	Tools []tool.Tool

	// Caps is what runs may do: globs of capabilities. A tool needs tool.NAME
	// and what its spec says besides; one that lacks any of it is not offered,
	// and a call of it is refused. Nil grants exactly what the given tools
	// need; what is not nil grants only what it says, empty nothing. A run that
	// was granted more, and is gone on with here, has no more than both grant.
	Caps []string

	// State declares the keys of the state and their scopes; may be nil.
	State *state.Specs

	// Hooks watch and steer, in this order at each moment.
	Hooks []selvage.Hook

	// Observers are told what runs do; see the package telemetry.
	Observers []Observer

	// AgentID names the definition whose runs these are. [Runner.Recover]
	// touches only runs of the same one. Empty is a name too.
	AgentID string

	// MaxTurns is how many answers of the model a run may take; see Limits. Zero means
	// [DefaultMaxTurns], negative no bound.
	MaxTurns int

	// Agents says what the runs of an agent of a name are made of, for tools
	// that spawn runs: the options of a runner, of which Store, Owner, OnActive,
	// LeaseTTL, Grace, Agents, Logger and Now are replaced by those here. Nil
	// knows none; runs of the same agent can be spawned always.
	Agents func(ctx context.Context, name string) (Options, error)

	// MaxChildren is how many runs that a run spawned are led here at once; what
	// it spawns besides queues, and takes of its budget when its turn has come.
	// One that waits is not led. Zero means [DefaultMaxChildren], negative no
	// bound.
	MaxChildren int

	// Limits bounds each run besides. Limits.Turns, if not nil, counts in
	// place of MaxTurns. A run that has used as much as a limit when a turn ends
	// waits until somebody raises it. Spawns and Depth bound the runs it spawns.
	Limits selvage.Limits

	// Stop ends each run as stopped, by the first rule that an answer of the
	// model meets, in the order of its fields; the calls of that answer still
	// run. Turns, Tokens and Errors do not stop an answer that is the last
	// anyway. Timeout ends a run in the middle of an answer or a call too.
	Stop selvage.StopRules

	// MaxOutputTokens bounds what the model says at once. An answer that is cut
	// off there is gone on with, three times at most. Zero leaves it to the
	// provider.
	MaxOutputTokens int

	// Window is how many of the last messages the model is given. Zero means
	// [selvage.DefaultWindow]; negative is an error.
	Window int

	// Rules decide what runs do at their turning points; the built-in rules of
	// [rules.BuiltIn] follow them. A run that a rule suspended goes on when it is
	// resumed. They are recorded with a run, which goes on under these wherever it
	// does. Limits hold whatever the rules say.
	Rules []rules.Rule

	// Context bounds further what of a thread the model is given.
	// Context.Messages counts in place of Window. Context.Tokens 0 is what the
	// models take, where that is known. With Summarise, what is about to be
	// left out is summarised in the background when 0.8 of the window is used,
	// and before the model is asked again when all of it is; if that fails it is
	// left out. Calls are never separated from their results, and the last
	// messages that belong together are given in any case. Context.Model is
	// that of Summariser.
	Context selvage.ContextRules

	// ContextSizes is how many tokens models take, input and output together,
	// by their names. It goes before what is known of them.
	ContextSizes map[string]int

	// Summariser makes summaries. Nil means Model.
	Summariser model.Model

	// Price is what the tokens of Model cost. Nil asks the model, which may be
	// a [model.Pricer]; if it is not, runs cost nothing.
	Price *model.Price

	// Retry says how failed requests to the model are repeated.
	Retry Retry

	// OnPartial says how an answer is asked for again that broke off. Empty
	// means [Continue].
	OnPartial OnPartial
	// ToolCalls is how the calls of one turn run. Empty is
	// [selvage.ToolCallsSequential].
	ToolCalls selvage.ToolCalls

	// OnActive is what a run does when another holds the thread. Empty means
	// [Queue].
	OnActive OnActive

	// Owner is who holds the leases. The zero value is this process.
	Owner selvage.Owner

	// LeaseTTL is how long a thread stays locked when its process has died on
	// another machine. Zero means [DefaultLeaseTTL]; the least is a second. It
	// is renewed three times in that time.
	LeaseTTL time.Duration

	// Grace bounds what is still done after a run was cancelled: its last
	// hooks, recording its end, giving back its lease. Zero means
	// [DefaultGrace].
	Grace time.Duration

	// Logger receives recovered runs at Info, repeated attempts at Warn and
	// tools that crashed at Error. Nil discards.
	Logger *slog.Logger

	// Now tells the time that Limits.Duration is measured by. Nil means
	// time.Now.
	Now func() time.Time
}

// OnActive says what a run does when another run holds its thread.
type OnActive string

// The choices.
const (
	Queue  OnActive = "queue"  // wait for it to end
	Reject OnActive = "reject" // fail with a [selvage.BusyError]
	// Interrupt cancels it and waits for it to end.
	Interrupt OnActive = "interrupt"
	// Steer gives it the messages, which the model reads before its next
	// answer, and waits for it to end: its result is that of both. If it ends
	// without having answered them a run of their own does.
	Steer OnActive = "steer"
)

// Retry says how a request to the model that failed in a way that may pass is
// repeated: after Initial, then after about twice as long each time up to Max,
// or after as long as the provider asks for. Repeating does not count as a turn.
type Retry struct {
	// Attempts is how often a request is sent at most. Zero means 4; 1 never
	// repeats it.
	Attempts int
	// Initial is the first wait. Zero means 500ms.
	Initial time.Duration
	// Max bounds the wait between two attempts. Zero means 20s.
	Max time.Duration
	// MaxRetryAfter is the longest wait a provider may ask for; beyond it the
	// run fails at once. Zero means 2m.
	MaxRetryAfter time.Duration
}

// withDefaults fills in what zero values mean.
func (r Retry) withDefaults() Retry {
	if r.Attempts <= 0 {
		r.Attempts = 4
	}
	if r.Initial <= 0 {
		r.Initial = 500 * time.Millisecond
	}
	if r.Max <= 0 {
		r.Max = 20 * time.Second
	}
	if r.MaxRetryAfter <= 0 {
		r.MaxRetryAfter = 2 * time.Minute
	}
	return r
}

// withDefaults fills in what zero values mean, or says what cannot be meant.
func (o Options) withDefaults() (Options, error) {
	bad := func(field, reason string) (Options, error) {
		return o, &selvage.InvalidError{Field: field, Reason: reason}
	}
	switch {
	case o.Model == nil:
		return bad("Model", "a runner needs a model")
	case o.Window < 0:
		return bad("Window", "the window may not be negative")
	case o.Context.Messages < 0, o.Context.Tokens < 0:
		return bad("Context", "neither Messages nor Tokens may be negative")
	case o.Context.Model != "" && (o.Summariser == nil || o.Summariser.Name() != o.Context.Model):
		return bad("Context.Model", "it is the name of Summariser, which is not that model")
	case o.LeaseTTL != 0 && o.LeaseTTL < time.Second:
		return bad("LeaseTTL", "a lease lasts at least a second, so that it can be renewed in time")
	case o.ToolCalls != "" && o.ToolCalls != selvage.ToolCallsSequential && o.ToolCalls != selvage.ToolCallsParallel && o.ToolCalls != selvage.ToolCallsBatch:
		return bad("ToolCalls", string(o.ToolCalls)+" is not offered; use sequential, parallel or batch")
	case o.OnActive != "" && !slices.Contains([]OnActive{Queue, Reject, Interrupt, Steer}, o.OnActive):
		return bad("OnActive", string(o.OnActive)+" is not offered; use queue, reject, interrupt or steer")
	}
	if err := o.OnPartial.check("OnPartial"); err != nil {
		return o, err
	}
	if o.Limits.Turns == nil && o.MaxTurns >= 0 {
		turns := o.MaxTurns
		if turns == 0 {
			turns = DefaultMaxTurns
		}
		o.Limits.Turns = &turns
	}
	if o.Summariser != nil {
		o.Context.Model = o.Summariser.Name()
	}
	if o.Context.Messages > 0 {
		o.Window = o.Context.Messages
	}
	if o.Window == 0 {
		o.Window = selvage.DefaultWindow
	}
	if o.OnActive == "" {
		o.OnActive = Queue
	}
	if o.LeaseTTL == 0 {
		o.LeaseTTL = DefaultLeaseTTL
	}
	if o.Grace <= 0 {
		o.Grace = DefaultGrace
	}
	if o.MaxChildren == 0 {
		o.MaxChildren = DefaultMaxChildren
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Retry = o.Retry.withDefaults()
	return o, nil
}

// contextRules are what a run records of its window; nil if nothing is said.
func (o *Options) contextRules() *selvage.ContextRules {
	rules := o.Context
	if o.Window != selvage.DefaultWindow {
		rules.Messages = o.Window
	}
	if rules == (selvage.ContextRules{}) {
		return nil
	}
	return &rules
}
