package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

func (a *app) threadEditCommand() *cobra.Command {
	var sets, deletes []string
	var at version
	cmd := &cobra.Command{
		Use: "edit ID --set /PATH=JSON", Short: "Change the state document of a thread", Args: exactly(1, "the id of a thread"), ValidArgsFunction: a.completeThreads,
		Long: `Change the state document of a thread. All of it takes effect in one version, or
nothing does: first what --set says, in order, then what --delete says.
--set '={...}' replaces the whole document, and --delete '' empties it. What runs
keep in it (` + "`thread state --all`" + `) stays, and cannot be edited.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			patch, err := editPatch(sets, deletes)
			if err != nil {
				return err
			}
			return a.changeThread(cmd.Context(), args[0], func(ctx context.Context, store selvage.Store, id selvage.ThreadID) error {
				receipt, err := edit(ctx, store, id, patch, at.v)
				if errors.Is(err, selvage.ErrConflict) {
					return hinted(err, "look at it again (`selvage thread state "+quote(string(id))+"`), and name the version it has now")
				}
				if err != nil {
					return err
				}
				doc := &changedDocument{id, receipt.Version, receipt.Hash}
				return a.show(doc, func() { a.note("%s is at version %d", id, doc.Version) })
			})
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&sets, "set", nil, "put a value at a path: `/PATH=JSON`, repeatable")
	f.StringArrayVar(&deletes, "delete", nil, "take away what is at a `/PATH`, repeatable")
	f.Var(&at, "if-version", "only if the thread is at this `VERSION`")
	return cmd
}

// editPatch makes a patch of what was typed.
func editPatch(sets, deletes []string) (state.Patch, error) {
	const example = `for example --set '/plan/step=2' --set '/name="Ann"' --delete /draft`
	var patch state.Patch
	for _, text := range sets {
		path, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, usage(example, "--set: %q is not /PATH=JSON", text)
		}
		at, err := state.ParsePointer(path)
		if err != nil {
			return nil, usage(example, "--set: %v", err)
		}
		if err := ownKey(at); err != nil {
			return nil, err
		}
		v, err := state.ParseValue([]byte(value))
		if err != nil {
			return nil, usage(example+"; text needs its quotes", "--set %s: %q is not JSON: %v", path, value, err)
		}
		patch = append(patch, state.Set(at, v))
	}
	for _, text := range deletes {
		at, err := state.ParsePointer(text)
		if err != nil {
			return nil, usage(example, "--delete: %v", err)
		}
		if err := ownKey(at); err != nil {
			return nil, err
		}
		patch = append(patch, state.Delete(at))
	}
	if len(patch) == 0 {
		return nil, usage(example, "nothing to change: --set and --delete are missing")
	}
	return patch, nil
}

// ownKey refuses a path at which runs keep what they need to go on: other
// values there would make them end, or do something again.
func ownKey(at state.Pointer) error {
	if at.Reserved() {
		return usage("`selvage run --help` lists what changes runs", "%s belongs to runs", at)
	}
	return nil
}

// edit applies a patch to the state of a thread, if it is at a version or at
// any. What it does to the whole document it does to all that is the user's.
func edit(ctx context.Context, store selvage.Store, id selvage.ThreadID, patch state.Patch, at selvage.Version) (selvage.Receipt, error) {
	set := selvage.ChangeSet{ID: selvage.NewID(), Reason: selvage.ReasonStateEdited}
	if !slices.ContainsFunc(patch, func(op state.Op) bool { return op.Path == "" }) {
		set.Patches = []selvage.StatePatch{{Source: sourceEdit, Ops: patch}}
		return store.Append(ctx, id, set, atVersion(at))
	}
	none := 0
	for try := 1; ; try++ {
		head, err := store.Load(ctx, id, selvage.LoadOptions{Messages: &none})
		if err != nil {
			return selvage.Receipt{}, err
		}
		ops, err := besideReserved(patch, head.State)
		if err != nil {
			return selvage.Receipt{}, err
		}
		set.Patches = []selvage.StatePatch{{Source: sourceEdit, Ops: ops}}
		receipt, err := store.Append(ctx, id, set, atVersion(cmp.Or(at, head.Thread.Version)))
		if at != 0 || try == editTries || !errors.Is(err, selvage.ErrConflict) {
			return receipt, err
		}
	}
}

const (
	sourceEdit = "cli:edit"
	editTries  = 10 // to replace a document that others change meanwhile
)

// besideReserved returns what a patch changes in a document, without its
// reserved keys. A patch that would write some is refused.
func besideReserved(patch state.Patch, doc state.Document) (state.Patch, error) {
	own := doc.Own()
	after, err := patch.Apply(own)
	if err != nil {
		return nil, &selvage.InvalidError{Field: "patches", Reason: err.Error()}
	}
	for key := range after.Root().Members() {
		if err := ownKey(state.At(key)); err != nil {
			return nil, err
		}
	}
	return state.Diff(own, after), nil
}
