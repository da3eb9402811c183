package tui

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
)

// Conversation is the thread that a screen shows. The screen calls it from
// goroutines of its own, of which none is left when [Run] returns. Status,
// Standing, Decide, History and commands that only read may be called while a
// turn goes on; the others are called one at a time.
type Conversation interface {
	// Send leads a turn. The sequence is ranged over once, to its end, which
	// comes soon after that of ctx.
	Send(ctx context.Context, text string) iter.Seq2[runner.Event, error]

	// Resume goes on with the run that waits, as Send tells it. Limits that
	// it has reached are raised first.
	Resume(ctx context.Context, raise []runner.Bump) iter.Seq2[runner.Event, error]

	// Standing is where the open run of the thread stands, and what it waits
	// for; the zero value if there is none.
	Standing(ctx context.Context) (Standing, error)

	// Decide records an answer to a question, durably, and says what came of
	// it. It does not resume the run.
	// Told is empty if it came to what was wanted.
	Decide(ctx context.Context, q Question, d selvage.Decision) (told string, err error)

	// End ends the run that waits, as cancelled.
	End(ctx context.Context, run selvage.RunID) error

	// Command does what a line that begins with "/" says.
	Command(ctx context.Context, line string) (Reply, error)

	// History returns what the thread holds, the zero value if it is new.
	History(ctx context.Context) (History, error)

	// Status is which thread it is and what its next run is made of.
	Status() Status

	// Notes returns what was to be told to a person since it was last called.
	Notes() []string

	// Explain says in words what failed, and what to do next.
	Explain(err error) (what, hint string)
}

// History is the end of what was said on a thread.
type History struct {
	Messages []selvage.Message // in order
	Earlier  bool              // there are messages before them
	Version  selvage.Version
}

// Status is what a conversation is made of.
type Status struct {
	Thread selvage.ThreadID
	Model  string
	Kept   bool // somebody can come back to it
}

// Reply is what a command came to.
type Reply struct {
	Text    string
	Leave   bool // the conversation is over
	Changed bool // the thread is another one or has other messages: read it again
}

// Standing is where the open run of a thread stands.
type Standing struct {
	Run       selvage.RunID    // "": there is none
	Waiting   *selvage.Waiting // nil: it does not wait
	Questions []Question       // that a person may answer
	Elsewhere []string         // commands that answer what runs ask for which it waits
	Ready     bool             // something was decided that the run has not gone on with
}

// Question is a ticket with the call that it is about.
type Question struct {
	Run       selvage.RunID
	CallID    string
	Tool      string
	Arguments json.RawMessage // as the model gave them; nil if they are not known
	Key       string          // idempotency key of the call
	Started   time.Time       // when the call was begun
	Ticket    selvage.Ticket
}
