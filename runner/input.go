package runner

import (
	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// Input is what starts a run.
type Input struct {
	// Messages join the thread, those excepted whose id it already holds.
	Messages []selvage.Message

	// State, if not nil, replaces the state of the thread. Keys of scope run
	// are removed from it as from any state.
	State *state.Document

	// RunID names the run and makes starting it repeatable: if the thread
	// already holds the run, it is gone on with if it was interrupted, and
	// its result is returned again if it is done. Empty makes a new run.
	RunID selvage.RunID

	// ParentRunID is the run that caused this one.
	ParentRunID selvage.RunID

	// Thread, if not nil, changes what the thread says about itself. A parent
	// or user given here must be the one the thread has, if it has one.
	Thread *selvage.ThreadUpdate
}

// Text is the input of one user message.
func Text(text string) Input {
	return Input{Messages: []selvage.Message{selvage.UserText(text)}}
}
