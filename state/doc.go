// Package state is the JSON state algebra of an agent thread: an immutable
// [Document], the [Patch] that changes it, and the rules that say when two
// patches may be taken together.
//
// A state document changes only through ops, and an op names a place with an
// RFC 6901 [Pointer]. [Patch.Apply] is pure and atomic: it returns a new
// document that shares every untouched part with the old one, or an [*OpError]
// and the old document. What a key means above that (how a delta folds into it,
// and when it is cleaned) is declared by a [Spec]; reducers and migrations run
// before the commit and leave only ops behind, so that a reload needs no Go code.
//
// Writers that do not know of each other use joins: a [Join] names a [Lattice],
// and joins of one place by one lattice lead to the same value in any order, and
// however often. [Conflicts] knows that, and what else commutes.
//
// Documents are compared by [Diff], which answers with a patch, and have one
// canonical encoding ([Document.AppendCanonical]). Patches come from RFC 6902
// and RFC 7386 and go to RFC 6902 ([FromJSONPatch], [FromMergePatch],
// [Patch.ToJSONPatch]).
//
// Numbers are never rounded on their way through: a literal is kept verbatim at
// any size, arithmetic is 64-bit integer arithmetic, and overflow is an error.
//
// This package imports nothing outside the standard library, does no IO, and
// every value in it is safe for concurrent use.
package state
