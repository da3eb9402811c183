package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/transfer"
)

// importDocument is what an import came to in JSON.
type importDocument struct {
	ID      selvage.ThreadID `json:"id"`
	Version selvage.Version  `json:"version"`
	Hash    selvage.Hash     `json:"hash"`
}

func (a *app) threadImportCommand() *cobra.Command {
	var as string
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Take in a thread that thread export wrote", Args: exactly(1, "a file, or - for stdin"),
		Long: `Take in the log of a thread as ` + "`thread export`" + ` wrote it. Versions, times and
hashes stay what they were. A file is proved as a whole before anything of it
is written; what comes through stdin is proved change by change. A thread that
is there is gone on with if its history is the beginning of the file's.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if as != "" {
				if _, err := threadID(as); err != nil {
					return err
				}
			}
			if args[0] != "-" {
				if err := a.proveLog(args[0]); err != nil {
					return fmt.Errorf("%s: %w", args[0], err)
				}
			}
			return a.withStore(cmd.Context(), forWriting, func(ctx context.Context, store selvage.Store) error {
				return a.importLog(ctx, store, args[0], selvage.ThreadID(as))
			})
		},
	}
	cmd.Flags().StringVar(&as, "as", "", "import it under another `ID`")
	return cmd
}

// proveLog reads a whole file and writes nothing.
func (a *app) proveLog(path string) error {
	return a.withLog(path, func(l *transfer.LogReader) error {
		for _, err := range l.Changes() {
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (a *app) withLog(path string, do func(*transfer.LogReader) error) error {
	file, err := a.openInput(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	l, err := transfer.NewLogReader(io.Reader(file))
	if err != nil {
		return err
	}
	return do(l)
}

func (a *app) importLog(ctx context.Context, store selvage.Store, path string, as selvage.ThreadID) error {
	return a.withLog(path, func(l *transfer.LogReader) error {
		doc := &importDocument{ID: l.Header.ID, Hash: l.Header.Hash}
		if as != "" {
			doc.ID = as
		}
		var err error
		if doc.Version, err = transfer.ReadLog(ctx, l, store, as); err != nil {
			return err
		}
		return a.show(doc, func() {
			if a.flags.quiet {
				a.out.line("%s", doc.ID)
			} else {
				a.out.line("%s is here: version %d, hash %s", doc.ID, doc.Version, doc.Hash)
			}
		})
	})
}
