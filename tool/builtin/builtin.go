// Package builtin holds the tools that come with Selvage. None is offered to a
// model unless it is named.
package builtin

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/tool"
)

// Options configures the built-in tools. The zero value is safe.
type Options struct {
	// Root is the directory that append_file writes under. Empty is the
	// working directory at the time of the call.
	Root string

	// Now is the clock of clock. Nil is [time.Now].
	Now func() time.Time
}

// Names returns the names [Named] knows, in order.
func Names() []string { return []string{"append_file", "clock", "note"} }

// Named returns the built-in tool of that name. The error matches
// [selvage.ErrNotFound] and lists what there is.
func Named(name string, opts Options) (tool.Tool, error) {
	switch name {
	case "append_file":
		return appendFile(opts.Root), nil
	case "clock":
		return clock(opts.Now), nil
	case "note":
		return note(), nil
	}
	if i := slices.IndexFunc(Names(), func(n string) bool { return strings.EqualFold(n, name) }); i >= 0 {
		return nil, fmt.Errorf("there is no built-in tool %q, but there is %q: %w", name, Names()[i], selvage.ErrNotFound)
	}
	return nil, fmt.Errorf("there is no built-in tool %q; there are %s: %w", name, strings.Join(Names(), ", "), selvage.ErrNotFound)
}
