package selvagetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/selvagehq/selvage"
)

// Life is one process of the agent, from its start until it is killed or has
// done everything. It is safe for concurrent use.
type Life struct {
	// Dir is a folder that all lives of one agent share; what the agent keeps
	// besides its threads belongs there.
	Dir string

	// Store keeps the threads of the agent.
	Store selvage.Store

	doom  int64        // the place at which the process is killed; 0 is none
	place atomic.Int64 // the places passed so far
}

// files of a life, in its folder.
const (
	storeFile   = "selvage.db"
	effectsFile = "effects"
	callsFile   = "calls"
	killedFile  = "killed"
	reportFile  = "report"
)

// Effect tells that something has happened which must happen once, such as a
// payment to the fake of a bank. Call it where it happens.
func (l *Life) Effect(name string) error {
	return appendLine(filepath.Join(l.Dir, effectsFile), fmt.Sprintf("%q", name))
}

// Point is a place at which the process may be killed, besides those that the
// harness has: before and after each append, and before and after each tool.
func (l *Life) Point() { l.at("Life.Point") }

// at is a place of a name, which the process leaves behind if it is killed
// there.
func (l *Life) at(name string) {
	if l.place.Add(1) != l.doom {
		return
	}
	err := os.WriteFile(filepath.Join(l.Dir, killedFile), []byte(name), 0o600)
	self, unknown := os.FindProcess(os.Getpid())
	if err = errors.Join(err, unknown); err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(fmt.Sprintf("selvagetest: the process cannot kill itself: %v", err))
	}
	select {} // it takes the kernel a moment
}

// appendLine adds a line to a file, in one write.
func appendLine(file, line string) (err error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
