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
//	                          before the next call begins
//	run_finished              the outcome, always, even if there is nothing else to record
//
// A run holds the lease of its thread, whose epoch fences all it appends. Others
// may append meanwhile: what does not contradict the run is taken in, and new
// messages reach the model with its next inference. After a crash,
// [Runner.Recover] takes over the runs whose owner is dead.
package runner
