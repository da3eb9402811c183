// Package builtin holds the tools that come with Selvage. None is offered to a
// model unless it is named, and what reaches outside the thread does so only as
// far as its options allow.
package builtin

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/tool"
)

// Options configures the built-in tools. The zero value is safe: http_get may
// ask nobody, shell asks before each command, and there is no memory.
type Options struct {
	// Root is the directory that append_file writes under. Empty is the
	// working directory at the time of the call.
	Root string

	// OnUnknown is what becomes of a call of append_file whose outcome a crash
	// left unknown. Empty is [selvage.OnUnknownAsk]. [selvage.OnUnknownProbe]
	// looks for the line in the file, which tells only if no other call
	// appends the same line.
	OnUnknown selvage.OnUnknown

	// HTTP says what http_get may ask.
	HTTP HTTP

	// Shell says how shell runs commands.
	Shell Shell

	// Memory is where remember, search_memory and forget keep things. Without
	// one their calls fail.
	Memory selvage.Memory

	// Agents are those of a name that spawn_agent tells the model of.
	Agents []Agent

	// Now is the clock of clock. Nil is [time.Now].
	Now func() time.Time
}

// makers are the built-in tools.
var makers = map[string]func(Options) tool.Tool{
	"append_file":   func(o Options) tool.Tool { return appendFile(o.Root, o.OnUnknown) },
	"ask_user":      func(Options) tool.Tool { return askUser() },
	"clock":         func(o Options) tool.Tool { return clock(o.Now) },
	"forget":        func(o Options) tool.Tool { return forget(o.Memory) },
	"http_get":      func(o Options) tool.Tool { return httpGet(o.HTTP) },
	"note":          func(Options) tool.Tool { return note() },
	"remember":      func(o Options) tool.Tool { return remember(o.Memory) },
	"search_memory": func(o Options) tool.Tool { return searchMemory(o.Memory) },
	"shell":         func(o Options) tool.Tool { return shell(o.Shell) },
	"spawn_agent":   func(o Options) tool.Tool { return spawnAgent(o.Agents) },
}

// Names returns the names [Named] knows, in order.
func Names() []string {
	names := make([]string, 0, len(makers))
	for name := range makers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Named returns the built-in tool of that name. The error matches
// [selvage.ErrNotFound] and lists what there is. What is wrong with the options
// is told by [tool.Bind].
func Named(name string, opts Options) (tool.Tool, error) {
	if maker, ok := makers[name]; ok {
		return maker(opts), nil
	}
	if i := slices.IndexFunc(Names(), func(n string) bool { return strings.EqualFold(n, name) }); i >= 0 {
		return nil, fmt.Errorf("there is no built-in tool %q, but there is %q: %w", name, Names()[i], selvage.ErrNotFound)
	}
	return nil, fmt.Errorf("there is no built-in tool %q; there are %s: %w", name, strings.Join(Names(), ", "), selvage.ErrNotFound)
}
