package tool

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// Call is one call of a tool, as the tool is given it. Its methods are safe
// for concurrent use; its fields are read-only.
type Call struct {
	ThreadID  selvage.ThreadID
	RunID     selvage.RunID
	UserID    string // whom the thread belongs to; may be empty
	Step      int    // the turn of the run, from 1
	ID        string // unique in the thread
	Name      string
	Arguments json.RawMessage // a JSON object

	// IdempotencyKey is the same whenever this call is run, and no other call
	// has it. Hand it to services that take one.
	IdempotencyKey string

	// Before is the state of the thread as the call found it.
	Before state.Document

	// Decision is what lets the call go on that was suspended; nil if it was
	// not.
	Decision *selvage.Decision

	// Spawner begins child runs; nil where there can be none.
	Spawner selvage.Spawner

	// OnProgress is given what the tool reports while it runs; may be nil.
	OnProgress func(text string)

	mu    sync.Mutex
	patch state.Patch    // guarded by mu
	doc   state.Document // Before with patch applied; guarded by mu; valid if patch is not nil
}

// State returns the state of the thread with what the call has patched so far.
func (c *Call) State() state.Document {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current()
}

func (c *Call) current() state.Document {
	if c.patch == nil {
		return c.Before
	}
	return c.doc
}

// Patch changes the state of the thread when the call succeeds, in the same
// commit as its result. The patch applies to what [Call.State] returns, as a
// whole or not at all; an error is a [state.OpError], also for what runs keep in
// the state ([state.ErrReserved]), but for what is this call's own. A call that
// fails changes nothing.
func (c *Call) Patch(ops ...state.Op) error {
	if err := state.Patch(ops).CheckReserved(state.At(state.CallsKey, c.ID)); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	doc, err := state.Patch(ops).Apply(c.current())
	if err != nil {
		return err
	}
	c.doc, c.patch = doc, append(c.patch, ops...)
	return nil
}

// Patches returns what the call has patched so far.
func (c *Call) Patches() state.Patch {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.patch)
}

// Progress tells whoever watches the run what the tool is doing. It is not
// recorded.
func (c *Call) Progress(text string) {
	if c.OnProgress != nil {
		c.OnProgress(text)
	}
}

// Get returns the value of a key as the call sees it, and whether there is
// one. A key of scope tool_call is that of this call.
func Get[T any](c *Call, key state.Key[T]) (T, bool, error) {
	return own(c, key).Get(c.State())
}

// Set stores a value under a key, whatever its reducer. See [Call.Patch].
func Set[T any](c *Call, key state.Key[T], value T) error {
	op, err := own(c, key).Set(value)
	if err != nil {
		return err
	}
	return c.Patch(op)
}

// Update folds delta into the value of a key through its reducer. See
// [Call.Patch].
func Update[T any](c *Call, key state.Key[T], delta T) error {
	patch, err := own(c, key).Update(c.State(), delta)
	if err != nil {
		return err
	}
	return c.Patch(patch...)
}

// own ties a key of scope tool_call to the call.
func own[T any](c *Call, key state.Key[T]) state.Key[T] {
	if key.Spec().Scope == state.ScopeToolCall {
		return key.For(c.ID)
	}
	return key
}
