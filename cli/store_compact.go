package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
)

// compactDocument is what a compaction did in JSON.
type compactDocument struct {
	selvage.CompactReport
	DryRun   bool  `json:"dry_run"`
	Archived int64 `json:"archived"`
}

// compacting is one call of store compact.
type compacting struct {
	*app
	thread  string
	keep    count
	archive string
	dry     bool
	older   *checked
}

func (a *app) storeCompactCommand() *cobra.Command {
	c := &compacting{app: a, older: duration()}
	cmd := &cobra.Command{
		Use: "compact", Short: "Give up the history of states that is old", Args: noArguments,
		Long: `Give up the history of state documents that is older than 30 days and not
among the last 10 changes of a thread's state. Messages, runs, calls, events and
every hash stay, and so does the state at the oldest version that is kept;
` + "`thread state --at`" + ` below it is gone. ` + "`thread verify`" + ` holds as before.

It works beside other writers, in small steps. Ctrl-C keeps what was done; the
same command goes on from there.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.thread != "" {
				if _, err := threadID(c.thread); err != nil {
					return err
				}
			}
			return a.withStore(cmd.Context(), forChanging, c.compact)
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.thread, "thread", "", "only the thread of this `ID`")
	f.Var(c.older, "older-than", "what is younger than this `DURATION` stays (30d)")
	f.Var(&c.keep, "keep", "the last `N` changes of the state stay, however old (10)")
	f.BoolVar(&c.dry, "dry-run", false, "only tell what it would do")
	f.StringVar(&c.archive, "archive", "", "write each change, whole, to the end of this `FILE` before it is reduced, one JSON object a line")
	return cmd
}

func (c *compacting) compact(ctx context.Context, store selvage.Store) (err error) {
	compactor, ok := selvage.As[selvage.Compactor](store)
	if !ok {
		return fmt.Errorf("this store cannot be compacted: %w", selvage.ErrUnsupported)
	}
	keep := selvage.DefaultRetention()
	if c.older.text != "" {
		keep.Age = durationOf(c.older.text)
	}
	if c.keep.n != nil {
		keep.Checkpoints = *c.keep.n
	}
	doc := &compactDocument{DryRun: c.dry}
	told := c.progress("compacted", "changes", 0)
	defer told.end()
	req := selvage.CompactRequest{Thread: selvage.ThreadID(c.thread), Retention: &keep, DryRun: c.dry,
		Progress: func(r selvage.CompactReport) { told.add(r.Changes - told.done) }}
	if c.archive != "" && !c.dry {
		file, openErr := os.OpenFile(c.archive, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if openErr != nil {
			return openErr
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		req.Archive = func(change *selvage.Change) error {
			doc.Archived++
			return archiveTo(file, change)
		}
	}
	doc.CompactReport, err = compactor.Compact(ctx, req)
	if err != nil {
		err = plainly(req.Thread, err)
		if doc.Changes > 0 {
			err = hinted(err, fmt.Sprintf("%d changes were reduced before; the same command goes on from there", doc.Changes))
		}
		return err
	}
	return c.show(doc, func() {
		verb := "compacted"
		if c.dry {
			verb = "would compact"
		}
		c.note("%s %d of %d threads: %d changes, %s less", verb, doc.Moved, doc.Threads, doc.Changes, bytesOf(doc.Bytes))
	})
}

// archiveTo writes a change to the archive. It is on the disk before the store
// gives it up.
func archiveTo(file *os.File, change *selvage.Change) error {
	e := json.NewEncoder(file)
	e.SetEscapeHTML(false)
	if err := e.Encode(change); err != nil {
		return err
	}
	return file.Sync()
}
