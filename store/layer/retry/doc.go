// Package retry is a layer over a [selvage.Store] that tries again what a
// store could not do at the moment, and only what the contract makes safe to
// repeat:
//
//   - Append, because a change set has an id and the same set under the same
//     id is appended once. A set without an id is given one before the first
//     try, so that every try is the same set.
//   - Reads, because they change nothing.
//   - The renewal and the release of a lease, because doing them twice does
//     what doing them once does.
//
// Delete and the acquisition of a lease are not repeated: a deletion whose
// answer was lost may have made way for a new thread of that name, and a
// second acquisition would find the thread held by the first. What was refused
// for a reason, a conflict, a fence, an invalid set, is never sent again.
package retry
