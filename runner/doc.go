// Package runner is the loop of an agent: it asks a model, runs the tools the
// model calls, and records every step in a thread, so that the death of the
// process at any moment loses nothing that was acknowledged and repeats no
// effect silently.
//
//	prepare -> run_start -> [ step_start -> before_inference -> inference -> after_inference -> step_end
//	                          -> for each call: before_tool -> tool -> after_tool ] -> run_end
//
// [Runner.Run] and [Runner.Stream] lead a run on a thread of a store,
// [Runner.Ask] and [Runner.AskStream] one of which nothing is kept; all four
// are the same loop with the same steps in the same order. What a run records,
// and when:
//
//	user_message              the inbound messages and the run itself, before anything happens
//	user_message              what the hooks at run_start did, if anything
//	user_message              before the model is asked, what is not recorded yet, if anything
//	assistant_turn_committed  the answer with its usage and cost, and in the same change the
//	                          start of each call whose effect is once
//	tool_results_committed    the results of the turn's calls; a call of effect once is recorded
//	                          before the next call begins. Also the start of such a call, where
//	                          hooks were asked about it or it was decided on, and the result of a
//	                          [Step]. With calls that are suspended: that the run waits
//	decision                  what somebody decided about a suspended call, or asks of the run;
//	                          and that the run goes on after it waited
//	run_finished              the outcome, always, even if there is nothing else to record
//
// While an answer arrives, what there is of it is kept as a stream checkpoint:
// a second after it came, or when it is 4 KiB, never for each delta. It is no
// message. If the stream breaks off, or the process dies, the model goes on
// after it or is asked anew, as [OnPartial] says; an answer that is never
// completed leaves it until the next complete answer of the thread. What
// attempts have used is booked once, whether they came to an answer or not, and
// estimated where the provider had not said it.
//
// A run holds the lease of its thread, whose epoch fences all it appends. Others
// may append meanwhile: what does not contradict the run is taken in, and new
// messages reach the model with its next inference. After a crash,
// [Runner.Recover] takes over the runs whose owner is dead.
//
// A call is suspended by the gate of its tool, by a hook or by the tool itself,
// with a ticket that says what it waits for. If nothing can be done before it
// is decided the run waits: it is recorded, and no process need live for it.
// [Decide] records a decision, [Signal] sends what a call waits for and [Cancel]
// ends a run, each in any process and without model or tools; [Runner.Resume]
// goes on with the run.
package runner
