package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
)

// verifyDocument is a proof in JSON.
type verifyDocument struct {
	ID       selvage.ThreadID `json:"id"`
	OK       bool             `json:"ok"`
	Version  selvage.Version  `json:"version"`
	Hash     selvage.Hash     `json:"hash"`
	Changes  int              `json:"changes"`
	Messages int64            `json:"messages"`
	// Erased counts the messages whose content was erased, Compacted the changes
	// whose part in the state was. Horizon is the version from which the state
	// is proved.
	Erased    int             `json:"erased,omitempty"`
	Compacted int             `json:"compacted,omitempty"`
	Horizon   selvage.Version `json:"horizon,omitempty"`
}

func (a *app) threadVerifyCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "verify ID", Short: "Prove that a thread is what was written", ValidArgsFunction: a.completeThreads,
		Args: func(cmd *cobra.Command, args []string) error {
			if file != "" {
				return noArguments(cmd, args)
			}
			return exactly(1, "the id of a thread")(cmd, args)
		},
		Long: `Prove that a thread is what was written: recompute the hash of every change
from its bytes, and hold head, state and messages against what the log adds up
to. Content that was erased, and states that were compacted, are told apart from
damage: what is left of them is proved. Exits 7 and names the version if
something does not fit.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if file != "" {
				return a.verifyProof(file)
			}
			return a.onThread(a.verifyOne)(cmd, args)
		},
	}
	cmd.Flags().StringVar(&file, "proof", "", "verify a `FILE` that thread export --format proof wrote; no store is needed")
	return cmd
}

func (a *app) verifyOne(ctx context.Context, store selvage.Store, id selvage.ThreadID) error {
	p, err := verifyThread(ctx, store, id)
	if err != nil {
		return err
	}
	doc := &verifyDocument{ID: id, OK: true, Version: p.version, Hash: p.hash, Changes: p.changes, Messages: p.compared,
		Erased: len(p.erased.lost), Compacted: p.compacted, Horizon: p.fold.head.Horizon}
	return a.show(doc, func() {
		if !a.flags.quiet {
			a.out.line("%s is whole: %d changes to version %d, %d messages, hash %s", id, p.changes, p.version, p.compared, p.hash)
			p.printGone(a)
		}
	})
}

// printGone tells what of the thread is no longer there, and was taken out by
// the rules.
func (p *proof) printGone(a *app) {
	if n := len(p.erased.lost); n > 0 {
		a.out.line("%d messages were erased; the log tells of each, and their digests are proved", n)
	}
	if p.compacted > 0 {
		a.out.line("the state below version %d was compacted (%d changes); their digests are proved", p.fold.head.Horizon, p.compacted)
	}
}
