package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
)

// repairDocument is what a repair came to in JSON.
type repairDocument struct {
	selvage.RepairReport

	DryRun bool             `json:"dry_run"`
	Items  []repairedRecord `json:"items"` // the threads that were, or are, not what their log says
}

// repairedRecord is one thread of a repair.
type repairedRecord struct {
	selvage.RepairedThread

	Lost string `json:"lost,omitempty"` // why the log cannot be read
}

func (a *app) storeRepairCommand() *cobra.Command {
	var req selvage.RepairRequest
	var thread string
	cmd := &cobra.Command{
		Use: "repair", Short: "Make every view of the logs anew where it is damaged", Args: noArguments,
		Long: `Make heads, runs, calls and indexes anew from the logs of the threads, compare
them with those that are there, and put them in their place where they differ.
The logs are the truth and are not changed: a thread whose log is damaged is
named and left as it is, and the command exits 7. Keep a copy of the store
before. If it breaks off, the same command goes on.`,
		RunE: a.onStore(forChanging, func(ctx context.Context, store selvage.Store) error {
			if thread != "" {
				id, err := threadID(thread)
				if err != nil {
					return err
				}
				req.Thread = id
			}
			return a.repair(ctx, store, req)
		}),
	}
	cmd.Flags().StringVar(&thread, "thread", "", "only this thread's `ID`")
	cmd.Flags().BoolVar(&req.DryRun, "dry-run", false, "only tell what would be changed")
	return cmd
}

func (a *app) repair(ctx context.Context, store selvage.Store, req selvage.RepairRequest) error {
	repairer, ok := selvage.As[selvage.Repairer](store)
	if !ok {
		return lacks("make its views anew", "repair")
	}
	doc := &repairDocument{DryRun: req.DryRun, Items: []repairedRecord{}}
	p := a.progress("looked at", "threads", 0)
	defer p.end()
	req.Told = func(t selvage.RepairedThread) {
		p.add(1)
		switch {
		case t.Lost != nil:
			doc.Items = append(doc.Items, repairedRecord{t, oneLine(t.Lost.Error())})
		case len(t.Changed) > 0:
			doc.Items = append(doc.Items, repairedRecord{t, ""})
		}
	}
	var err error
	if doc.RepairReport, err = repairer.Repair(ctx, req); err != nil {
		return err
	}
	p.end()
	err = a.show(doc, func() { a.printRepaired(doc) })
	if err == nil && doc.Lost > 0 {
		return &failure{exit: exitCorrupt, class: "corrupt", err: fmt.Errorf("the logs of %d threads are damaged: %w", doc.Lost, selvage.ErrCorrupt),
			hint: "what was appended before the damage can be read: `selvage thread log ID`; restore the thread from a backup"}
	}
	return err
}

func (a *app) printRepaired(doc *repairDocument) {
	for i := range doc.Items {
		item := &doc.Items[i]
		what := "made anew: " + strings.Join(item.Changed, ", ")
		switch {
		case item.Lost != "":
			what = a.out.style.red(item.Lost)
		case doc.DryRun:
			what = "is not what the log says: " + strings.Join(item.Changed, ", ")
		}
		if a.flags.quiet {
			what = ""
		}
		a.out.line("%s", strings.TrimRight(fmt.Sprintf("%s  %s", item.ID, what), " "))
	}
	verb := "repaired"
	if doc.DryRun {
		verb = "need repair"
	}
	a.note("%d threads, %d %s, %d lost", doc.Threads, doc.Repaired, verb, doc.Lost)
	if doc.Orphans > 0 {
		a.note("%d changes belong to no thread and were left alone", doc.Orphans)
	}
}
