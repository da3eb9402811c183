// Package tui is the screen of a conversation: what `selvage chat` shows on a
// terminal. It knows runs and their events, and nothing of flags and
// configuration; whoever calls [Run] gives it a [Conversation].
//
// It takes the whole screen rather than writing into the scrollback. A call
// that was folded may be unfolded minutes later, a window that changes its
// width wraps all of the text anew, and a question about a call stands where
// the answer is typed: of what has scrolled away nothing could be changed any
// more. On leaving, the conversation is written to the terminal as it was
// shown, so that it stays in the scrollback like the output of any command.
//
// What models, tools and other users wrote is shown and never obeyed: control
// characters, among them those that begin a terminal's commands, and those
// that turn the direction of text are replaced before anything else is done.
//
// Without colour the screen uses no escape sequence for looks and ASCII for
// its signs.
package tui
