package cli

import (
	"context"

	"github.com/selvagehq/selvage"
)

// childDocument is a run that a run spawned, in JSON.
type childDocument struct {
	RunID    selvage.RunID      `json:"run_id"`
	ThreadID selvage.ThreadID   `json:"thread_id"`
	AgentID  string             `json:"agent_id,omitempty"`
	Status   selvage.RunStatus  `json:"status"`
	Outcome  *selvage.Outcome   `json:"outcome,omitempty"`
	Cost     selvage.Money      `json:"cost"`       // its own
	Total    selvage.Money      `json:"total_cost"` // with what it spawned
	Limit    *selvage.Money     `json:"max_spend,omitempty"`
	Waiting  selvage.WaitReason `json:"waiting,omitempty"`
}

// childrenOf lists the runs that a run spawned, oldest first.
func childrenOf(ctx context.Context, store selvage.Store, run selvage.RunID) ([]childDocument, error) {
	children := []childDocument{}
	limit := selvage.MaxPage
	query := selvage.RunQuery{ParentRunID: run, Order: selvage.Ascending, Limit: &limit}
	for {
		page, err := store.Runs(ctx, query)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			r := &page.Items[i]
			below, err := childrenOf(ctx, store, r.ID)
			if err != nil {
				return nil, err
			}
			c := childDocument{RunID: r.ID, ThreadID: r.ThreadID, AgentID: r.AgentID, Status: r.Status, Outcome: r.Outcome,
				Cost: r.Cost, Total: r.Cost + totalOf(below), Limit: r.Bounds().Spend}
			if r.Waiting != nil {
				c.Waiting = r.Waiting.Reason
			}
			children = append(children, c)
		}
		if page.Next == "" {
			return children, nil
		}
		query.Cursor = page.Next
	}
}

// totalOf is what runs cost with what they spawned.
func totalOf(children []childDocument) (sum selvage.Money) {
	for i := range children {
		sum += children[i].Total
	}
	return sum
}

func (a *app) printChildren(d *runDocument) {
	if len(d.Children) == 0 {
		return
	}
	rows := make([][]string, len(d.Children))
	for i := range d.Children {
		c := &d.Children[i]
		status := string(c.Status)
		switch {
		case c.Outcome != nil:
			status = string(c.Outcome.Kind)
		case c.Waiting != "":
			status += " (" + string(c.Waiting) + ")"
		}
		most := ""
		if c.Limit != nil {
			most = "$" + c.Limit.String()
		}
		rows[i] = []string{string(c.RunID), string(c.ThreadID), c.AgentID, status, "$" + c.Total.String(), most}
	}
	a.out.line("")
	a.table([]string{"SPAWNED", "THREAD", "AGENT", "STATUS", "COST", "OF AT MOST"}, rows)
}
