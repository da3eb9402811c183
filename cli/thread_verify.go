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
to. Exits 7 and names the version if something does not fit.`,
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
	doc := &verifyDocument{ID: id, OK: true, Version: p.version, Hash: p.hash, Changes: p.changes, Messages: p.compared}
	return a.show(doc, func() {
		if !a.flags.quiet {
			a.out.line("%s is whole: %d changes to version %d, %d messages, hash %s", id, p.changes, p.version, p.compared, p.hash)
		}
	})
}
