package runner

import (
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// sourceMigrate is the source of patches that bring state to its present shape.
const sourceMigrate = "runner:migrate"

// migrate brings the state of the thread to the shapes that this program's
// specs know. The patch is committed with the next change, which is the first
// of a run that begins. State that cannot be brought there matches
// [selvage.ErrUnsupported] and, if a newer program wrote it,
// [state.ErrSpecVersion].
func (x *run) migrate(doc state.Document) error {
	p, err := x.r.opts.State.Migrate(doc)
	if err != nil {
		return fmt.Errorf("thread %q: %w (%w)", x.thread, err, selvage.ErrUnsupported)
	}
	return x.patch(sourceMigrate, p)
}

// migrateHanded does so for a state that the caller handed in. It is in the
// shapes that the caller knows unless it says otherwise itself.
func (x *run) migrateHanded() error {
	if has(x.doc, state.At(state.SpecsKey)) {
		return x.migrate(x.doc)
	}
	return x.migrate(state.Document{})
}
