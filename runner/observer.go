package runner

import (
	"context"
	"time"

	"github.com/selvagehq/selvage"
)

// Observer is told what runs do, so that it can be traced and counted. It
// changes nothing about them. Implementations are safe for concurrent use and
// return promptly: the run waits for them.
type Observer interface {
	// Begin tells that an activity begins. What happens inside of it gets the
	// context that is returned. The func is called once, when it has ended.
	Begin(ctx context.Context, a Activity) (context.Context, func(Ended))
}

// ActivityKind is what an [Activity] is.
type ActivityKind string

// The activities. Each stands inside of the one before, tools beside models.
const (
	ActivityRun   ActivityKind = "run"   // what one process does of a run, from taking it up to recording how it ended or that it waits
	ActivityTurn  ActivityKind = "turn"  // an answer of the model and its calls
	ActivityModel ActivityKind = "model" // one request to the model; a repeated one is another
	ActivityTool  ActivityKind = "tool"  // one execution of a tool
)

// Activity is something that a run does.
type Activity struct {
	Kind        ActivityKind
	ThreadID    selvage.ThreadID
	RunID       selvage.RunID
	ParentRunID selvage.RunID
	AgentID     string
	Resumed     bool   // another process began the run
	Step        int    // the turn; 0 for a run
	Model       string // PROVIDER/NAME; empty for a tool
	Attempt     int    // kind model: how many requests of the turn failed before
	Tool        string // kind tool
	CallID      string // kind tool
	Effect      selvage.Effect
}

// Ended is what came of an activity.
type Ended struct {
	Took      time.Duration
	Err       error            // kinds model and tool: why it failed; kind run: why there is no outcome
	Usage     selvage.Usage    // kind model: of the request; kind run: of all of the run
	Cost      selvage.Money    // likewise
	Finish    string           // kind model: why the answer ended
	Failed    bool             // kind tool: the result says that it failed
	Suspended bool             // kind tool: it waits for a decision
	Outcome   *selvage.Outcome // kind run, if it is done
	Waiting   *selvage.Waiting // kind run, if it waits
}

// observe tells the observers that an activity of the run begins.
func (x *run) observe(ctx context.Context, a Activity) (context.Context, func(Ended)) {
	observers := x.r.opts.Observers
	if len(observers) == 0 {
		return ctx, func(Ended) {}
	}
	a.ThreadID, a.RunID, a.ParentRunID, a.AgentID, a.Resumed = x.thread, x.id, x.parent, x.r.opts.AgentID, x.resumed
	if a.Kind != ActivityRun {
		a.Step = x.step
	}
	began := time.Now()
	ends := make([]func(Ended), len(observers))
	for i, o := range observers {
		ctx, ends[i] = o.Begin(ctx, a)
	}
	return ctx, func(e Ended) {
		e.Took = time.Since(began)
		for i := len(ends) - 1; i >= 0; i-- {
			ends[i](e)
		}
	}
}
