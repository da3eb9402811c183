package cli

import "strconv"

// printCalls shows the calls of a run, each with the arguments that it was run
// with.
func (a *app) printCalls(d *runDocument) {
	rows := make([][]string, len(d.Calls))
	for i := range d.Calls {
		c := &d.Calls[i]
		result := ""
		if c.Result != nil {
			result = cutTo(*c.Result, summaryLength/2)
		}
		rows[i] = []string{c.ID, strconv.Itoa(c.Turn), c.Name, string(c.Effect), string(c.Status), compact(c.used()), result}
	}
	if len(rows) > 0 {
		a.out.line("")
	}
	a.table([]string{"CALL", "TURN", "TOOL", "EFFECT", "STATUS", "ARGUMENTS", "RESULT"}, rows)
}

// printDecisions shows how calls were decided, by whom and when. What the model
// had wanted is told beside arguments of a decision.
func (a *app) printDecisions(d *runDocument) {
	var rows [][]string
	for i := range d.Calls {
		c := &d.Calls[i]
		was := c.decided()
		if was == nil {
			continue
		}
		asked := ""
		if c.Used != nil {
			asked = compact(c.Arguments)
		}
		rows = append(rows, []string{c.ID, verdictOf(was), was.By, moment(was.At), cutTo(was.Reason, summaryLength), asked})
	}
	if len(rows) == 0 {
		return
	}
	a.out.line("")
	a.table([]string{"DECIDED", "HOW", "BY", "AT", "REASON", "IN PLACE OF"}, rows)
}
