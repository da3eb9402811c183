package postgres

import (
	"slices"

	"github.com/selvagehq/selvage"
)

// writeRuns writes the rows of the runs that the plan creates or ends. In
// between, what becomes of a run stands in the head alone.
func (w *write) writeRuns() error {
	var created runColumns
	var ended struct{ ids, data [][]byte }
	for i := range w.plan.Runs {
		r := &w.plan.Runs[i]
		data, err := encodeRun(r)
		if err != nil {
			return err
		}
		// What was not open and was not refused did not exist.
		switch open := w.from.OpenRun; {
		case !w.from.Exists() || open == nil || open.ID != r.ID:
			if err := created.add(int32(i), r, data); err != nil {
				return err
			}
		case !r.Status.Open():
			ended.ids, ended.data = append(ended.ids, packID(string(r.ID))), append(ended.data, data)
		}
	}
	if len(created.ids) > 0 {
		w.insertRuns(&created)
	}
	if len(ended.ids) > 0 {
		w.sql.WriteString(`, ru AS (UPDATE selvage.runs r SET open = false, data = u.data FROM h, unnest(`)
		w.arg(ended.ids, "bytea[]")
		w.sql.WriteString(", ")
		w.arg(ended.data, "bytea[]")
		w.sql.WriteString(") AS u(id, data) WHERE r.tenant = $1::text AND r.id = u.id)")
	}
	return nil
}

// runColumns are the rows of new runs, by column.
type runColumns struct {
	items, opens                     []int32
	ids, agents, parents, specs, all [][]byte
	created                          []int64
}

func (c *runColumns) add(item int32, r *selvage.Run, data []byte) error {
	var spec, agent []byte
	if r.Spec != nil {
		var err error
		if spec, err = encodeJSON(r.Spec); err != nil {
			return err
		}
	}
	if r.AgentID != "" {
		agent = []byte(r.AgentID)
	}
	open := int32(0)
	if r.Status.Open() {
		open = 1
	}
	c.items, c.opens, c.created = append(c.items, item), append(c.opens, open), append(c.created, r.CreatedAt.UnixMilli())
	c.ids, c.agents = append(c.ids, packID(string(r.ID))), append(c.agents, agent)
	c.parents, c.specs, c.all = append(c.parents, packOptional(string(r.ParentRunID))), append(c.specs, spec), append(c.all, data)
	return nil
}

func (w *write) insertRuns(c *runColumns) {
	w.sql.WriteString(`, ri AS (INSERT INTO selvage.runs (tenant, thread, born, version, item, open, created_at, id, agent, parent, spec, data)
		SELECT $1::text, $2::bytea, h.ord, `)
	w.arg(int64(w.plan.Change.Version), "bigint")
	w.sql.WriteString(", u.item, u.open = 1, u.created_at, u.id, u.agent, u.parent, u.spec, u.data FROM h, unnest(")
	for i, v := range []struct {
		value any
		kind  string
	}{
		{c.items, "integer[]"}, {c.opens, "integer[]"}, {c.created, "bigint[]"}, {c.ids, "bytea[]"},
		{c.agents, "bytea[]"}, {c.parents, "bytea[]"}, {c.specs, "bytea[]"}, {c.all, "bytea[]"},
	} {
		if i > 0 {
			w.sql.WriteString(", ")
		}
		w.arg(v.value, v.kind)
	}
	w.sql.WriteString(") AS u(item, open, created_at, id, agent, parent, spec, data))")
}

// writeCalls writes the rows of the calls that the plan journals or ends.
func (w *write) writeCalls() error {
	var created, ended struct{ ids, data [][]byte }
	for i := range w.plan.Calls {
		c := &w.plan.Calls[i]
		data, err := encodeJSON(c)
		if err != nil {
			return err
		}
		was := w.from.Exists() && slices.ContainsFunc(w.from.OpenCalls, func(o selvage.Call) bool { return o.ID == c.ID })
		switch {
		case !was:
			created.ids, created.data = append(created.ids, packID(c.ID)), append(created.data, data)
		case c.Status.Terminal():
			ended.ids, ended.data = append(ended.ids, packID(c.ID)), append(ended.data, data)
		}
	}
	if len(created.ids) > 0 {
		w.sql.WriteString(`, ci AS (INSERT INTO selvage.calls (tenant, thread, id, data) SELECT $1::text, $2::bytea, u.id, u.data FROM h, unnest(`)
		w.arg(created.ids, "bytea[]")
		w.sql.WriteString(", ")
		w.arg(created.data, "bytea[]")
		w.sql.WriteString(") AS u(id, data))")
	}
	if len(ended.ids) > 0 {
		w.sql.WriteString(`, cu AS (UPDATE selvage.calls c SET data = u.data FROM h, unnest(`)
		w.arg(ended.ids, "bytea[]")
		w.sql.WriteString(", ")
		w.arg(ended.data, "bytea[]")
		w.sql.WriteString(") AS u(id, data) WHERE c.tenant = $1::text AND c.thread = $2::bytea AND c.id = u.id)")
	}
	return nil
}
