// Package caps says what a run may do: capabilities have dotted names such as
// "tool.append_file", and a [Set] of globs grants them.
//
// Nothing is granted that no glob of the set matches, so the empty set grants
// nothing. A set can only be handed down whole or narrowed: [Subset] refuses
// one that might grant what its parent does not. The package is pure.
package caps
