package runner

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/tool"
)

// maxTitle bounds the title of a child's thread, in characters.
const maxTitle = 60

// titleOf is the beginning of a prompt.
func titleOf(prompt string) string {
	title := strings.Join(strings.Fields(prompt), " ")
	if runes := []rune(title); len(runes) > maxTitle {
		title = string(runes[:maxTitle-1]) + "…"
	}
	return title
}

// waitsForChild makes a call wait for a child that waits itself.
func waitsForChild(child selvage.ChildRun, w *selvage.Waiting) error {
	message := fmt.Sprintf("run %s, which it spawned, waits", child.RunID)
	if w != nil {
		message += fmt.Sprintf(" (%s)", w.Reason)
		if w.Message != "" {
			message += ": " + w.Message
		}
	}
	return tool.Suspend(selvage.Ticket{ID: childTicket(child.RunID), Reason: selvage.WaitBackground, Message: message, Child: &child})
}

// childTicket names the ticket of a call that waits for a child.
func childTicket(id selvage.RunID) string { return "child-" + string(id) }

// childOf names thread and run of the child that a call asks for: the same
// whenever the call is run, and no other call's.
func childOf(parent selvage.ChildRun, key string) selvage.ChildRun {
	name := func(what string) string {
		sum := sha256.Sum256([]byte(strings.Join([]string{what, string(parent.ThreadID), string(parent.RunID), key}, "\x00")))
		sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // a UUIDv8
		return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	}
	return selvage.ChildRun{ThreadID: selvage.ThreadID(name("thread")), RunID: selvage.RunID(name("run"))}
}

// standsAt is what a child waits for that this process could not lead to its
// end, and why it could not.
func standsAt(child *selvage.Run, why error) *selvage.Waiting {
	if child.Waiting != nil {
		return child.Waiting
	}
	return &selvage.Waiting{Reason: selvage.WaitBackground, Message: why.Error()}
}
