package selvage

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// Codes of limits that a run has reached.
const (
	LimitTurns    = "turns_exceeded"
	LimitTokens   = "tokens_exceeded"
	LimitSpend    = "spend_exceeded"
	LimitSpawns   = "spawns_exceeded"
	LimitDepth    = "depth_exceeded"
	LimitDuration = "duration_exceeded"
)

// Limits bound a run. A limit trips when the count reaches it (>=); nil is
// unlimited and 0 allows nothing.
type Limits struct {
	Turns    *int           `json:"turns,omitempty"`
	Tokens   *int64         `json:"tokens,omitempty"`   // input and output together
	Spend    *Money         `json:"spend,omitempty"`    // of the run and of those it spawned
	Spawns   *int           `json:"spawns,omitempty"`   // child runs
	Depth    *int           `json:"depth,omitempty"`    // generations below the run
	Duration *time.Duration `json:"duration,omitempty"` // from the begin, waiting aside, in nanoseconds
}

// Clone returns limits that share nothing with l.
func (l Limits) Clone() Limits {
	return Limits{Turns: copied(l.Turns), Tokens: copied(l.Tokens), Spend: copied(l.Spend), Spawns: copied(l.Spawns),
		Depth: copied(l.Depth), Duration: copied(l.Duration)}
}

// copied returns a pointer to a copy.
func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// StopRules end a run as stopped. The zero value has none; a rule counts what
// the run itself did.
type StopRules struct {
	Turns    *int           `json:"turns,omitempty"`    // answers of the model
	Timeout  *time.Duration `json:"timeout,omitempty"`  // from the begin, waiting aside, in nanoseconds; also in the middle of an answer or a call
	Tokens   *int64         `json:"tokens,omitempty"`   // input and output together
	Errors   *int           `json:"errors,omitempty"`   // turns in a row all of whose calls failed
	Tools    []string       `json:"tools,omitempty"`    // a call of one of them
	Contents []string       `json:"contents,omitempty"` // regular expressions; an answer that one matches
	Loop     int            `json:"loop,omitempty"`     // two turns among so many last ones that make the same calls; 0 is off
}

// ContextRules bound what of a thread reaches the model. The log keeps
// everything.
type ContextRules struct {
	Messages  int    `json:"messages,omitempty"`  // the last so many; 0 is [DefaultWindow]
	Tokens    int    `json:"tokens,omitempty"`    // of the model's input; 0 is what the model takes, if that is known
	Summarise bool   `json:"summarise,omitempty"` // what no longer fits is summarised
	Model     string `json:"model,omitempty"`     // that summarises; empty is that of the run
}

// Amount is a count, an amount of dollars or a duration, as text. A count is a
// number in JSON, anything else a string.
type Amount string

// Count is an amount that was counted.
func Count(n int64) Amount { return Amount(strconv.FormatInt(n, 10)) }

// MarshalJSON implements [json.Marshaler].
func (a Amount) MarshalJSON() ([]byte, error) {
	if _, err := strconv.ParseInt(string(a), 10, 64); err == nil && !strings.HasPrefix(string(a), "+") {
		return []byte(a), nil
	}
	return json.Marshal(string(a))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (a *Amount) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(data, []byte(`"`)) {
		var n json.Number
		err := json.Unmarshal(data, &n)
		*a = Amount(n)
		return err
	}
	var s string
	err := json.Unmarshal(data, &s)
	*a = Amount(s)
	return err
}
