package selvage

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// RunStatus is where a run stands. Stores enforce the machine
//
//	created -> running | done     running -> waiting | done
//	waiting -> running | done     done is final
//
// in which every status may also follow itself, done excepted.
type RunStatus string

// The run statuses.
const (
	RunCreated RunStatus = "created"
	RunRunning RunStatus = "running"
	RunWaiting RunStatus = "waiting"
	RunDone    RunStatus = "done"
)

// Open reports whether a run of status s is not done.
func (s RunStatus) Open() bool { return s != RunDone }

// CanBecome reports whether a run may go from s to next. The empty status
// stands for a run that does not exist yet.
func (s RunStatus) CanBecome(next RunStatus) bool {
	switch s {
	case "":
		return next == RunCreated || next == RunRunning
	case RunCreated:
		return next == RunCreated || next == RunRunning || next == RunDone
	case RunRunning:
		return next == RunRunning || next == RunWaiting || next == RunDone
	case RunWaiting:
		return next == RunWaiting || next == RunRunning || next == RunDone
	default:
		return false
	}
}

// OutcomeKind is how a run ended.
type OutcomeKind string

// The outcomes.
const (
	OutcomeCompleted OutcomeKind = "completed"
	OutcomeFailed    OutcomeKind = "failed"
	OutcomeCancelled OutcomeKind = "cancelled"
	OutcomeStopped   OutcomeKind = "stopped" // by a rule; Code names it
)

// Outcome is how a done run ended: its kind, a code for programs
// ("max_turns", "abandoned", ...) and a detail for people.
type Outcome struct {
	Kind   OutcomeKind `json:"kind"`
	Code   string      `json:"code,omitempty"`
	Detail string      `json:"detail,omitempty"`
}

// WaitReason is why a run waits.
type WaitReason string

// The reasons to wait.
const (
	WaitApproval      WaitReason = "approval"
	WaitUserInput     WaitReason = "user_input"
	WaitLimit         WaitReason = "limit"
	WaitBudget        WaitReason = "budget"
	WaitError         WaitReason = "error"
	WaitExternalEvent WaitReason = "external_event"
	WaitBackground    WaitReason = "background"
)

// Waiting is what a waiting run waits for.
type Waiting struct {
	Reason  WaitReason `json:"reason"`
	Tickets []string   `json:"tickets,omitempty"`
	Message string     `json:"message,omitempty"`
	// LimitCode, Current and Max tell which limit was reached, if the reason
	// is [WaitLimit] or [WaitBudget].
	LimitCode string `json:"limit_code,omitempty"`
	Current   Amount `json:"current,omitempty"`
	Max       Amount `json:"max,omitempty"`
	// Escalation is what is proposed to do about the limit, if anything is.
	Escalation Escalation `json:"escalation,omitzero"`
	// Until is when the run can go on without anybody's doing.
	Until *time.Time `json:"until,omitempty"`
}

// Escalation puts it to people to raise a limit that a run has reached. To
// resume with its ticket raises it as proposed, to abort ends the run.
type Escalation struct {
	Ticket   string `json:"ticket"`
	Proposed Amount `json:"proposed"` // the new limit
}

// Usage counts tokens as the provider reported them.
type Usage struct {
	InputTokens      int64 `json:"input_tokens"`
	OutputTokens     int64 `json:"output_tokens"`
	CachedTokens     int64 `json:"cached_tokens,omitempty"`      // of the input: found in the provider's cache
	CacheWriteTokens int64 `json:"cache_write_tokens,omitempty"` // of the input: put into the provider's cache
	ReasoningTokens  int64 `json:"reasoning_tokens,omitempty"`   // of the output
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		InputTokens:      u.InputTokens + v.InputTokens,
		OutputTokens:     u.OutputTokens + v.OutputTokens,
		CachedTokens:     u.CachedTokens + v.CachedTokens,
		CacheWriteTokens: u.CacheWriteTokens + v.CacheWriteTokens,
		ReasoningTokens:  u.ReasoningTokens + v.ReasoningTokens,
	}
}

// Max returns the greater of each count of u and v.
func (u Usage) Max(v Usage) Usage {
	return Usage{
		InputTokens:      max(u.InputTokens, v.InputTokens),
		OutputTokens:     max(u.OutputTokens, v.OutputTokens),
		CachedTokens:     max(u.CachedTokens, v.CachedTokens),
		CacheWriteTokens: max(u.CacheWriteTokens, v.CacheWriteTokens),
		ReasoningTokens:  max(u.ReasoningTokens, v.ReasoningTokens),
	}
}

// ToolUse is what a run recorded about one of its tools.
type ToolUse struct {
	Name       string `json:"name"`
	SchemaHash string `json:"schema_hash"` // hex SHA-256 of the argument schema
	Effect     Effect `json:"effect"`
}

// RunSpec is what a run was resolved to: enough to continue it elsewhere, or
// to refuse with the difference named.
type RunSpec struct {
	Model  string    `json:"model,omitempty"` // PROVIDER/NAME
	System string    `json:"system,omitempty"`
	Tools  []ToolUse `json:"tools,omitempty"`
	Limits Limits    `json:"limits,omitzero"`
	Policy string    `json:"policy,omitempty"` // name of the checkpoint policy
	Needs  []string  `json:"needs,omitempty"`  // what a host must offer

	ToolCalls ToolCalls     `json:"tool_calls,omitempty"` // how the calls of one turn run; empty is sequential
	Caps      []string      `json:"caps,omitempty"`       // what the run is granted
	Fallbacks []string      `json:"fallbacks,omitempty"`  // models that answer when Model does not, in order
	Stop      *StopRules    `json:"stop,omitempty"`
	Context   *ContextRules `json:"context,omitempty"`
	// Rules are those of the user at the events of the run, as package rules has
	// them in JSON.
	Rules json.RawMessage `json:"rules,omitempty"`
	// MaxOutputTokens bounds each answer; 0 leaves it to the provider.
	MaxOutputTokens int `json:"max_output_tokens,omitempty"`
	// Budget is the run whose budget the spending of this one counts against,
	// and on whose thread it stands; nil is none but its own limits.
	Budget *ChildRun `json:"budget,omitempty"`
}

// ToolCalls is how the calls of one turn run.
type ToolCalls string

// The ways.
const (
	// ToolCallsSequential runs one after the other, each on the state that the
	// one before left, and stops at the first that is suspended.
	ToolCallsSequential ToolCalls = "sequential"
	// ToolCallsParallel runs all at once, each on the state at the beginning
	// of the turn. Of two whose patches conflict the later one fails.
	ToolCallsParallel ToolCalls = "parallel"
	// ToolCallsBatch is [ToolCallsParallel], except that suspended calls go on
	// together, when the last of them is decided.
	ToolCallsBatch ToolCalls = "batch"
)

// Clone returns a spec that shares nothing with s.
func (s RunSpec) Clone() RunSpec {
	s.Tools, s.Needs, s.Caps, s.Fallbacks = slices.Clone(s.Tools), slices.Clone(s.Needs), slices.Clone(s.Caps), slices.Clone(s.Fallbacks)
	s.Rules = slices.Clone(s.Rules)
	s.Limits, s.Context, s.Budget = s.Limits.Clone(), copied(s.Context), copied(s.Budget)
	if s.Stop = copied(s.Stop); s.Stop != nil {
		r := s.Stop
		r.Turns, r.Timeout, r.Tokens, r.Errors = copied(r.Turns), copied(r.Timeout), copied(r.Tokens), copied(r.Errors)
		r.Tools, r.Contents = slices.Clone(r.Tools), slices.Clone(r.Contents)
	}
	return s
}

// Run is one execution of the loop on a thread.
type Run struct {
	ID          RunID     `json:"id"`
	ThreadID    ThreadID  `json:"thread_id"`
	AgentID     string    `json:"agent_id,omitempty"`
	ParentRunID RunID     `json:"parent_run_id,omitempty"`
	Spec        *RunSpec  `json:"spec,omitempty"`
	Status      RunStatus `json:"status"`
	Outcome     *Outcome  `json:"outcome,omitempty"` // exactly when done
	Waiting     *Waiting  `json:"waiting,omitempty"` // exactly when waiting
	Usage       Usage     `json:"usage"`
	Cost        Money     `json:"cost"`
	Steps       int       `json:"steps"`
	Limits      *Limits   `json:"limits,omitempty"` // in force, if they are no longer those of the spec
	Error       string    `json:"error,omitempty"`
	CreatedAt   time.Time `json:"created_at"`
	StartedAt   time.Time `json:"started_at,omitzero"`
	UpdatedAt   time.Time `json:"updated_at"`
	FinishedAt  time.Time `json:"finished_at,omitzero"`
}

// RunUpdate creates a run or moves it on. Totals are absolute, so that an
// update can be sent twice; nil leaves what is there. AgentID, ParentRunID and
// Spec count when the run is created and are ignored later.
type RunUpdate struct {
	ID          RunID     `json:"id"`
	AgentID     string    `json:"agent_id,omitempty"`
	ParentRunID RunID     `json:"parent_run_id,omitempty"`
	Spec        *RunSpec  `json:"spec,omitempty"`
	Status      RunStatus `json:"status"`
	Outcome     *Outcome  `json:"outcome,omitempty"`
	Waiting     *Waiting  `json:"waiting,omitempty"`
	Usage       *Usage    `json:"usage,omitempty"`
	Cost        *Money    `json:"cost,omitempty"`
	Steps       *int      `json:"steps,omitempty"`
	Limits      *Limits   `json:"limits,omitempty"` // from now on; see [Run.Limits]
	Error       *string   `json:"error,omitempty"`
}

// Bounds returns the limits of the run that are in force.
func (r *Run) Bounds() Limits {
	switch {
	case r.Limits != nil:
		return *r.Limits
	case r.Spec != nil:
		return r.Spec.Limits
	}
	return Limits{}
}

// Apply returns the run that u makes of r at the given time. A nil r is a run
// that does not exist yet. The error matches [ErrInvalid] and says which rule
// u breaks; r is never modified.
func (u *RunUpdate) Apply(r *Run, thread ThreadID, at time.Time) (*Run, error) {
	var from RunStatus
	next := Run{ID: u.ID, ThreadID: thread, AgentID: u.AgentID, ParentRunID: u.ParentRunID, Spec: u.Spec, CreatedAt: at}
	if r != nil {
		from, next = r.Status, *r
	}
	if !from.CanBecome(u.Status) {
		return nil, u.refuse(from)
	}
	next.Status, next.UpdatedAt, next.Outcome, next.Waiting = u.Status, at, u.Outcome, u.Waiting
	if u.Usage != nil {
		next.Usage = *u.Usage
	}
	if u.Cost != nil {
		next.Cost = *u.Cost
	}
	if u.Steps != nil {
		next.Steps = *u.Steps
	}
	if u.Limits != nil {
		next.Limits = u.Limits
	}
	if u.Error != nil {
		next.Error = *u.Error
	}
	if u.Status == RunRunning && next.StartedAt.IsZero() {
		next.StartedAt = at
	}
	if u.Status == RunDone {
		next.FinishedAt = at
	}
	return &next, nil
}

// refuse explains why a run of status from may not become u.Status.
func (u *RunUpdate) refuse(from RunStatus) error {
	reason := fmt.Sprintf("a run cannot go from %s to %s", from, u.Status)
	switch from {
	case "":
		reason = fmt.Sprintf("run %q does not exist here, and none starts as %q", u.ID, u.Status)
	case RunDone:
		reason = fmt.Sprintf("run %q is done, which is final", u.ID)
	}
	return &InvalidError{Field: "runs", Reason: reason}
}
