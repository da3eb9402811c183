package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// diffDocument is what thread diff prints.
type diffDocument struct {
	ID    selvage.ThreadID `json:"id"`
	From  selvage.Version  `json:"from"`
	To    selvage.Version  `json:"to"`
	State state.Patch      `json:"state"` // makes the one of the other
	// Added and Removed are the messages that only one of the two can see.
	Added   []selvage.Message `json:"messages_added"`
	Removed []selvage.Message `json:"messages_removed"`
}

func (a *app) threadDiffCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "diff ID FROM TO", Short: "Compare a thread at two versions", Args: exactly(3, "the id of a thread and two versions"), ValidArgsFunction: a.completeThreads,
		Long: `Compare a thread at two versions: what changes the state of the first into that
of the second, and the messages that only one of them shows. What runs keep in
the state for themselves is left out without --all.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var from, to version
			for i, v := range []*version{&from, &to} {
				if err := v.Set(args[i+1]); err != nil {
					return usage("`selvage thread log "+quote(args[0])+"` lists its versions", "%s", err)
				}
			}
			return a.onThread(func(ctx context.Context, store selvage.Store, id selvage.ThreadID) error {
				doc, err := diff(ctx, store, id, from.v, to.v, all)
				if err != nil {
					return notReached(ctx, store, id, max(from.v, to.v), err)
				}
				return a.show(doc, func() { a.printDiff(doc) })
			})(cmd, args[:1])
		},
	}
	flagAllKeys(cmd, &all)
	return cmd
}

// diff compares a thread at two versions, of the state what is the user's or
// all.
func diff(ctx context.Context, store selvage.Store, id selvage.ThreadID, from, to selvage.Version, all bool) (*diffDocument, error) {
	doc := &diffDocument{ID: id, From: from, To: to, State: state.Patch{}, Added: []selvage.Message{}, Removed: []selvage.Message{}}
	before, err := store.State(ctx, id, from)
	if err != nil {
		return nil, err
	}
	after, err := store.State(ctx, id, to)
	if err != nil {
		return nil, err
	}
	if !all {
		before, after = before.Own(), after.Own()
	}
	doc.State = append(doc.State, state.Diff(before, after)...)
	was, err := collectMessages(ctx, store, id, from)
	if err != nil {
		return nil, err
	}
	is, err := collectMessages(ctx, store, id, to)
	if err != nil {
		return nil, err
	}
	doc.Removed = append(doc.Removed, without(was, is)...)
	doc.Added = append(doc.Added, without(is, was)...)
	return doc, nil
}

func collectMessages(ctx context.Context, store selvage.Store, id selvage.ThreadID, at selvage.Version) ([]selvage.Message, error) {
	var all []selvage.Message
	for m, err := range storedMessages(ctx, store, id, at) {
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// without returns the messages that others do not hold.
func without(messages, others []selvage.Message) []selvage.Message {
	known := make(map[int64]bool, len(others))
	for i := range others {
		known[others[i].Seq] = true
	}
	var rest []selvage.Message
	for i := range messages {
		if !known[messages[i].Seq] {
			rest = append(rest, messages[i])
		}
	}
	return rest
}

func (a *app) printDiff(doc *diffDocument) {
	if len(doc.State)+len(doc.Added)+len(doc.Removed) == 0 {
		a.note("nothing differs")
		return
	}
	for _, op := range doc.State {
		line := string(op.Kind) + " " + strconv.Quote(string(op.Path))
		if op.Kind != state.OpDelete {
			line += " " + op.Value.String()
		}
		a.out.line("%s", oneLine(line))
	}
	a.printSigned("-", doc.Removed)
	a.printSigned("+", doc.Added)
}

func (a *app) printSigned(sign string, messages []selvage.Message) {
	for i := range messages {
		m := &messages[i]
		a.out.line("%s %d %s: %s", sign, m.Seq, m.Role, oneLine(describe(m)))
	}
}
