package process

import "fmt"

// Holder is a process that keeps others from a file.
type Holder struct {
	PID     int
	Command string // its name; empty if it may not be looked at
	Stopped bool   // it was stopped, as by SIGSTOP or Ctrl-Z, and does nothing until it is told to go on
}

// String names the process for people.
func (h Holder) String() string {
	text := fmt.Sprintf("process %d", h.PID)
	if h.Command != "" {
		text += " (" + h.Command + ")"
	}
	return text
}
