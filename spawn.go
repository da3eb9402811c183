package selvage

import "context"

// Spawner begins runs of other agents for a run. Tools find it in their call.
type Spawner interface {
	// Spawn begins a run of an agent on a thread of its own and returns what
	// it came to. Repeating a request with its key never begins another run:
	// one that is open is gone on with, and of one that is done the result is
	// told again. A run that waits for something makes the error a ticket to
	// be suspended with. What the parent may not have done is refused with
	// [ErrInvalid].
	Spawn(ctx context.Context, r SpawnRequest) (SpawnResult, error)
}

// SpawnRequest asks for a child run.
type SpawnRequest struct {
	Key    string // of the call that asks; names thread and run of the child
	Agent  string // the name of a definition; empty is that of the parent
	Prompt string
	Limits Limits   // at most those that the parent has left
	Caps   []string // at most those of the parent; nil is all of them
}

// SpawnResult is what a child run came to.
type SpawnResult struct {
	ChildRun
	Outcome Outcome
	Text    string // its last answer, if it completed
	Usage   Usage
	Cost    Money
}
