package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/transfer"
)

func (a *app) storeCopyCommand() *cobra.Command {
	var from, to, thread string
	cmd := &cobra.Command{
		Use: "copy --from URL --to URL", Short: "Copy every thread into another store, and prove it", Args: noArguments,
		Long: `Copy every thread of every tenant, or one thread, into another store. Versions,
times and hashes stay what they were; each change is proved as it is taken in,
and head, state and runs are compared at the end. What is there is passed over:
a copy that broke off is gone on with by the same command, and a later one
brings what has happened since. Both stores may be in use. A thread that is
damaged, or has another history in the other store, is left out and named, and
the others are copied.

Threads are copied, and the blobs they refer to. What is kept besides them
(memory, configuration, the audit log, deliveries, tombstones) moves with
` + "`store backup`" + ` and ` + "`store restore`" + `, which work between all kinds of stores.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from == "" || to == "" {
				return usage("for example --from ./app.db --to postgres://localhost/agents", "--from and --to say which stores")
			}
			if thread != "" {
				if _, err := threadID(thread); err != nil {
					return err
				}
			}
			return a.copyStores(cmd.Context(), from, to, transfer.CopyOptions{Thread: selvage.ThreadID(thread)})
		},
	}
	f := cmd.Flags()
	f.StringVar(&from, "from", "", "`URL` of the store to copy")
	f.StringVar(&to, "to", "", "`URL` of the store to copy into; a file is made if it does not exist")
	f.StringVar(&thread, "thread", "", "only this thread's `ID`")
	return cmd
}

func (a *app) copyStores(ctx context.Context, from, to string, opts transfer.CopyOptions) (err error) {
	source, err := a.openStoreURL(ctx, from, forReading)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := a.openStoreURL(ctx, to, forWriting)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	p := a.progress("copied", "threads", 0)
	defer p.end()
	opts.Told = func(transfer.CopyReport) { p.add(1) }
	report, err := transfer.Copy(ctx, source, target, opts)
	if err != nil {
		if errors.Is(err, context.Canceled) {
			p.end()
			a.tell("%d threads are copied; the same command goes on", report.Threads)
		}
		if n := len(report.Refused); n > 0 {
			p.end()
			for _, r := range report.Refused {
				a.tell("left out: %s", r.Reason)
			}
			a.tell("%d threads are the same in both stores: %d changes copied", report.Threads, report.Changes)
			return hinted(err, fmt.Sprintf("`%s thread log ID` in both stores shows what became of it; `thread export` keeps a history in a file", a.name))
		}
		return err
	}
	return a.show(&report, func() {
		if !a.flags.quiet {
			a.out.line("%d threads are the same in both stores: %d changes copied, %d threads were up to date", report.Threads, report.Changes, report.UpToDate)
		}
	})
}
