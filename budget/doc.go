// Package budget divides what a run may spend among the runs it spawns, so
// that however many of them ask at once, and whichever of them die, no more is
// spent than the run may.
//
// A budget is a part of the state of the parent's thread, and every change of it
// is an append at an exact version: a child reserves before it begins, and when
// it has ended what it spent is settled and the rest is free again. What the
// run itself has spent, and what it may, stand in its record and are read at the
// same version. At all times
//
//	own spending + reservations of open children + spending of ended ones <= limit
//
// Spending of a grandchild is in what its parent settles, so that it counts
// once in each ancestor. Every method can be repeated, which is what a process
// does that does not know how far the one before it came.
//
// The package needs nothing but a [selvage.Store], and leads no runs.
package budget
