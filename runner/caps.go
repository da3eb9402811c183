package runner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/caps"
	"github.com/selvagehq/selvage/tool"
)

// needs is what a run must be granted to call a tool.
func needs(spec *selvage.ToolSpec) []string {
	return append([]string{caps.Tool(spec.Name)}, spec.Caps...)
}

// grant decides what the runs of this runner may do, and leaves out the tools
// that need more.
func (r *Runner) grant() error {
	for i := range r.specs {
		for _, name := range r.specs[i].Caps {
			if err := caps.Check(name); err != nil || strings.Contains(name, "*") {
				return &selvage.InvalidError{Field: "Tools", Reason: fmt.Sprintf("tool %q needs %.80q, which is not the name of a capability", r.specs[i].Name, name)}
			}
		}
	}
	globs := r.opts.Caps
	if globs == nil {
		for i := range r.specs {
			globs = append(globs, needs(&r.specs[i])...)
		}
	}
	var err error
	if r.caps, err = caps.Parse(globs); err != nil {
		return err
	}
	r.specs = permitted(r.caps, r.specs)
	r.uses = slices.DeleteFunc(r.uses, func(u selvage.ToolUse) bool { return !offered(r.specs, u.Name) })
	return nil
}

// permitted returns those of the tools whose needs are granted.
func permitted(granted caps.Set, tools []selvage.ToolSpec) []selvage.ToolSpec {
	return slices.DeleteFunc(slices.Clone(tools), func(s selvage.ToolSpec) bool { return len(granted.Lacks(needs(&s)...)) > 0 })
}

// recordedCaps is what a run was granted. One that says nothing of it was
// granted the tools that it names.
func (r *Runner) recordedCaps(spec *selvage.RunSpec) caps.Set {
	if len(spec.Caps) > 0 {
		return spec.Caps
	}
	var set caps.Set
	for _, use := range spec.Tools {
		if bound, ok := r.tools[use.Name]; ok {
			have := bound.Spec()
			set = append(set, needs(&have)...)
		}
	}
	return set
}

// capsOf is what a run may do here: what it was granted, of which this runner may
// have been told to grant less, and never more.
func (r *Runner) capsOf(spec *selvage.RunSpec) caps.Set {
	recorded := r.recordedCaps(spec)
	if r.opts.Caps == nil {
		return recorded
	}
	return caps.Narrow(recorded, r.caps)
}

// refusal is the result of a call of a tool that the model was not offered.
func (x *run) refusal(name string, offer []selvage.ToolSpec) *selvage.ToolResult {
	if bound, ok := x.r.tools[name]; ok {
		spec := bound.Spec()
		if lacks := x.caps.Lacks(needs(&spec)...); len(lacks) > 0 {
			result := tool.Failed("%s may not be called in this run, which is not granted %s", name, strings.Join(lacks, ", "))
			return &result
		}
	}
	return notOffered(name, offer)
}
