package selvage

// Moment names a place in the loop of a run, in the order
//
//	run_start
//	[ step_start, before_inference, after_inference, step_end,
//	  for each call: before_tool, after_tool ] for each turn
//	run_end
//
// A process that takes a run up comes to run start once, also when it goes on
// with a run that another process began or that waited, and to run end once,
// whatever that end is, also when the run begins to wait, unless the run is
// taken from it.
type Moment string

// The moments.
const (
	MomentRunStart        Moment = "run_start"        // the run is recorded, nothing has happened
	MomentStepStart       Moment = "step_start"       // a turn begins
	MomentBeforeInference Moment = "before_inference" // the model is about to be asked
	MomentAfterInference  Moment = "after_inference"  // it has answered; the answer is not recorded yet
	MomentStepEnd         Moment = "step_end"         // the turn is about to be recorded
	MomentBeforeTool      Moment = "before_tool"      // a call is about to run
	MomentAfterTool       Moment = "after_tool"       // a call has a result, which is not recorded yet
	MomentRunEnd          Moment = "run_end"          // the outcome, or that the run waits, is about to be recorded
)
