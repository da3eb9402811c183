// Package rules decides by data what a run does at the points where it can be
// steered: a rule names an event, a condition on the facts, and an action.
//
//   - name: wait out the night
//     event: error
//     when: {all: [{path: error.class, op: eq, value: quota}, {path: run.steps, op: gte, value: 3}]}
//     do: suspend
//     params: {reason: error, message: "${error.class} after ${run.steps} steps"}
//
// Rules stand on layers: those of the user (1) come before the built-in ones
// (2), and the first that matches and has an action decides. Rules of the
// infrastructure (3) are told of every event that they match, whatever was
// decided, and decide nothing.
//
// [Parse] reads rules, [Compile] checks them, [Set.Decide] applies them. Nothing
// here does anything: the run loop carries out what was decided, and enforces
// its limits also where no rule speaks. The package is pure.
package rules
