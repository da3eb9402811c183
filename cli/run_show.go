package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/rules"
)

// runDocument is a run in JSON: its fields, and what its thread tells of it.
type runDocument struct {
	selvage.Run
	Bounds   selvage.Limits   `json:"bounds"` // the limits in force
	Tickets  []ticketDocument `json:"tickets"`
	Decide   []string         `json:"decide,omitempty"` // commands with which a run goes on that waits without tickets, or that nobody leads
	Turns    []turnDocument   `json:"turns"`
	Partial  *partialDocument `json:"partial,omitempty"` // the answer it is in the middle of, or was when it ended
	Beside   *turnSpending    `json:"beside,omitempty"`  // what attempts cost that came to no answer
	Calls    []callDocument   `json:"calls"`
	Children []childDocument  `json:"children"`        // the runs it spawned
	Total    selvage.Money    `json:"total_cost"`      // with what they cost
	Lease    *leaseDocument   `json:"lease,omitempty"` // who leads it
}

func (a *app) runShowCommand() *cobra.Command {
	var (
		sent bool
		step count
	)
	cmd := &cobra.Command{
		Use: "show RUN", Short: "Show a run: what it waits for, what it did and what it cost", Args: exactly(1, "the id of a run"),
		Long: `Show what a run is made of, what it waits for and how that is decided, its turns
with what each cost, and its calls. With --context show instead exactly what the
model was given for an answer: the last one, or that of --step.`,
		ValidArgsFunction: a.completeRuns(false),
		RunE: a.onRun(forReading, func(ctx context.Context, store selvage.Store, run *selvage.Run) error {
			switch {
			case sent:
				return a.showContext(ctx, store, run, step.n)
			case step.n != nil:
				return usage("add --context", "--step says of which answer the --context is shown")
			}
			doc, s, err := a.runDocument(ctx, store, run)
			if err != nil {
				return err
			}
			return a.show(doc, func() {
				if a.flags.quiet {
					a.out.line("%s", doc.ID)
					return
				}
				a.printRun(doc, s)
			})
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&sent, "context", false, "what the model was given for an answer")
	f.Var(&step, "step", "with --context: of the answer of this turn, a `NUMBER` from 1 on")
	return cmd
}

func (a *app) runDocument(ctx context.Context, store selvage.Store, run *selvage.Run) (*runDocument, *story, error) {
	s, err := tellStory(ctx, store, run)
	if err != nil {
		return nil, nil, err
	}
	doc := &runDocument{Run: *run, Bounds: run.Bounds(), Tickets: []ticketDocument{}, Turns: s.turns, Calls: s.calls}
	if doc.Partial, err = partialOf(ctx, store, run); err != nil {
		return nil, nil, err
	}
	if doc.Children, err = childrenOf(ctx, store, run.ID); err != nil {
		return nil, nil, err
	}
	doc.Total = run.Cost + totalOf(doc.Children)
	if s.beside != (turnSpending{}) {
		doc.Beside = &s.beside
	}
	if !run.Status.Open() {
		return doc, s, nil
	}
	head, err := bareHead(ctx, store, run.ThreadID)
	if err != nil {
		return nil, nil, err
	}
	if l := leader(head); l != nil {
		doc.Lease = &leaseDocument{Owner: l.Owner.String(), Epoch: l.Epoch, Until: moment(l.Until)}
	}
	if doc.Tickets, err = a.openTickets(ctx, store, run, head); err != nil {
		return nil, nil, err
	}
	w := run.Waiting
	if len(doc.Tickets) == 0 && (w != nil || doc.Lease == nil) || w != nil && w.Escalation.Ticket != "" {
		doc.Decide = a.goesOn(run)
	}
	return doc, s, nil
}

func (a *app) printRun(d *runDocument, s *story) {
	a.fields(runFields(d))
	for i := range d.Tickets {
		a.printTicket(&d.Tickets[i])
	}
	for _, command := range d.Decide {
		a.out.line("%s  %s", a.out.style.dim("to go on"), command)
	}
	a.printTurns(d, s)
	a.printPartial(d.Partial)
	a.printCalls(d)
	a.printDecisions(d)
	a.printChildren(d)
}

func runFields(d *runDocument) [][2]string {
	r := &d.Run
	pairs := [][2]string{
		{"id", string(r.ID)}, {"thread", string(r.ThreadID)}, {"agent", r.AgentID}, {"parent run", string(r.ParentRunID)},
		{"status", standing(r)}, {"why", circumstance(r)}, {"error", r.Error},
	}
	if w := r.Waiting; w != nil && w.Escalation.Ticket != "" {
		pairs = append(pairs, [2]string{"proposed", fmt.Sprintf("%s (ticket %s)", limitAsks(w), w.Escalation.Ticket)})
	}
	if spec := r.Spec; spec != nil {
		pairs = append(pairs, [][2]string{
			{"model", spec.Model}, {"fallbacks", strings.Join(spec.Fallbacks, ", ")}, {"system", cutTo(spec.System, summaryLength)},
			{"tools", strings.Join(toolNames(spec), ", ")}, {"tool calls", string(spec.ToolCalls)}, {"caps", strings.Join(spec.Caps, ", ")},
			{"rules", strings.Join(ruleNames(spec), ", ")}, {"needs", strings.Join(spec.Needs, ", ")},
		}...)
	}
	pairs = append(pairs, boundFields(d)...)
	pairs = append(pairs, [][2]string{
		{"tokens", fmt.Sprintf("%d in, %d out", r.Usage.InputTokens, r.Usage.OutputTokens)},
		{"cost", "$" + r.Cost.String()}, {"created", moment(r.CreatedAt)}, {"updated", moment(r.UpdatedAt)}, {"finished", moment(r.FinishedAt)},
	}...)
	if len(d.Children) > 0 {
		pairs = append(pairs, [2]string{"total cost", "$" + d.Total.String() + " with the runs it spawned"})
	}
	if l := d.Lease; l != nil {
		pairs = append(pairs, [2]string{"led by", fmt.Sprintf("%s until %s", l.Owner, l.Until)})
	}
	return pairs
}

func toolNames(spec *selvage.RunSpec) []string {
	names := make([]string, len(spec.Tools))
	for i := range spec.Tools {
		names[i] = spec.Tools[i].Name
	}
	return names
}

// ruleNames are the names of the rules that a run recorded, as far as they can
// be read.
func ruleNames(spec *selvage.RunSpec) []string {
	var recorded []rules.Rule
	if len(spec.Rules) == 0 || json.Unmarshal(spec.Rules, &recorded) != nil {
		return nil
	}
	names := make([]string, len(recorded))
	for i := range recorded {
		names[i] = recorded[i].Name
	}
	return names
}

// boundFields are the limits in force, beside what they count.
func boundFields(d *runDocument) [][2]string {
	r, b := &d.Run, &d.Bounds
	turns := strconv.Itoa(r.Steps)
	if b.Turns != nil {
		turns = fmt.Sprintf("%d of %d", r.Steps, *b.Turns)
	}
	pairs := [][2]string{{"turns", turns}}
	add := func(name, format string, args ...any) {
		pairs = append(pairs, [2]string{name, fmt.Sprintf(format, args...)})
	}
	if b.Tokens != nil {
		add("token limit", "%d", *b.Tokens)
	}
	if b.Spend != nil {
		add("spend limit", "$%s", *b.Spend)
	}
	if b.Spawns != nil {
		add("spawn limit", "%d", *b.Spawns)
	}
	if b.Depth != nil {
		add("depth limit", "%d", *b.Depth)
	}
	if b.Duration != nil {
		add("time limit", "%s", *b.Duration)
	}
	return pairs
}

// printTicket shows a question and how to answer it.
func (a *app) printTicket(t *ticketDocument) {
	a.out.line("")
	a.out.line("%s %s  %s", a.out.style.bold("waits for "+string(t.Reason)), a.out.style.dim("ticket "+oneLine(t.ID)), oneLine(t.question()))
	pairs := [][2]string{{"  call", fmt.Sprintf("%s %s (%s)", t.Name, compact(t.Arguments), t.CallID)}, {"  details", cutTo(string(t.Details), 4*summaryLength)}}
	if t.Until != nil {
		pairs = append(pairs, [2]string{"  until", moment(*t.Until)})
	}
	for _, command := range t.Decide {
		pairs = append(pairs, [2]string{"  decide", command})
	}
	a.fields(pairs)
}

func (a *app) printTurns(d *runDocument, s *story) {
	if len(d.Turns) == 0 {
		return
	}
	rows := make([][]string, 0, len(d.Turns)+1)
	spent := func(s *turnSpending) []string {
		return []string{strconv.FormatInt(s.Usage.InputTokens, 10), strconv.FormatInt(s.Usage.OutputTokens, 10), "$" + s.Cost.String()}
	}
	for i := range d.Turns {
		t := &d.Turns[i]
		said := cutTo(t.Text, summaryLength/2)
		if names := s.callNames(t); names != "" {
			said = strings.TrimSpace("[" + names + "] " + said)
		}
		rows = append(rows, append(append([]string{strconv.Itoa(t.Turn), t.Version.String(), moment(t.At)}, spent(&t.turnSpending)...), said))
	}
	if d.Beside != nil {
		rows = append(rows, append(append([]string{"-", "", ""}, spent(d.Beside)...), "attempts without an answer"))
	}
	a.out.line("")
	a.table([]string{"TURN", "VERSION", "AT", "IN", "OUT", "COST", "SAID"}, rows)
}
