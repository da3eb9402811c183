package tui

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
)

// Options is what a screen is opened with.
type Options struct {
	Conversation Conversation
	Input        io.Reader // a terminal
	Output       io.Writer // a terminal
	Env          []string  // "NAME=value"
	Colour       bool
}

// Left is how a conversation was left.
type Left struct {
	Interrupted bool   // by Ctrl-C, or because ctx ended
	Talked      bool   // something was sent
	Waits       string // what the run waits for; "": it does not wait
}

// Run shows the conversation until the user leaves or ctx ends, and then
// writes it to Output as it was shown. A turn that goes on is cancelled by
// leaving and waited for. The error is that the terminal could not be used.
func Run(ctx context.Context, o Options) (Left, error) {
	hands := newCrew(ctx)
	m := newModel(o.Conversation, paletteOf(o.Colour), hands, time.Now)
	opts := []tea.ProgramOption{tea.WithContext(ctx), tea.WithInput(o.Input), tea.WithOutput(o.Output), tea.WithEnvironment(o.Env),
		tea.WithoutSignalHandler()}
	if !o.Colour {
		opts = append(opts, tea.WithColorProfile(colorprofile.ASCII))
	}
	_, err := tea.NewProgram(m, opts...).Run()
	hands.leave()
	if ctx.Err() != nil && errors.Is(err, tea.ErrProgramKilled) {
		m.left.Interrupted, err = true, nil
	}
	if m.turn == nil && m.standing.Waiting != nil {
		m.left.Waits = m.awaited()
	}
	m.farewell(o.Output)
	return m.left, err
}

// maxFarewell bounds the lines that are left in the scrollback.
const maxFarewell = 2000

// farewell writes the transcript below what the terminal showed before.
func (m *model) farewell(to io.Writer) {
	m.drain()
	if !m.left.Talked || m.script.width == 0 {
		return
	}
	lines, before := m.script.text(maxFarewell)
	if before > 0 {
		lines = append([]string{m.paint(faint, "(the beginning is left out; /history or `selvage thread messages` shows it)")}, lines...)
	}
	// Nothing can be done about a terminal that takes no more.
	_, _ = io.WriteString(to, strings.Join(lines, "\n")+"\n")
}
