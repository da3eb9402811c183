package record

import (
	"context"
	"fmt"

	"github.com/selvagehq/selvage"
)

// configShape is what a cursor of the registry is bound to.
type configShape struct {
	List     string `json:"list"`
	Kind     string `json:"kind"`
	ID       string `json:"id"`
	Archived bool   `json:"archived"`
}

// Resource implements [selvage.Config].
func (c config) Resource(ctx context.Context, n selvage.ConfigName) (out selvage.ConfigResource, err error) {
	if err = checkConfigName(n); err == nil {
		err = c.k.engine.View(ctx, func(tx Tx) error {
			row, err := mustResource(tx, n)
			out = row.resource(n)
			return err
		})
	}
	if err != nil {
		return selvage.ConfigResource{}, fmt.Errorf("read a resource: %w", err)
	}
	return out, nil
}

// Version implements [selvage.Config].
func (c config) Version(ctx context.Context, n selvage.ConfigName, v selvage.Version) (out selvage.ConfigVersion, err error) {
	if err = checkConfigName(n); err == nil && v < 0 {
		err = invalid("version", "versions count from 1, and %d is none", v)
	}
	if err == nil {
		err = c.k.engine.View(ctx, func(tx Tx) (err error) {
			out, err = loadVersion(tx, n, v)
			return err
		})
	}
	if err != nil {
		return selvage.ConfigVersion{}, fmt.Errorf("read a version: %w", err)
	}
	return out, nil
}

// Versions implements [selvage.Config].
func (c config) Versions(ctx context.Context, q selvage.ConfigVersionQuery) (selvage.ConfigVersionPage, error) {
	page, err := c.versions(ctx, q)
	if err != nil {
		return selvage.ConfigVersionPage{}, fmt.Errorf("list the versions of %s: %w", configName(q.Name), err)
	}
	return page, nil
}

func (c config) versions(ctx context.Context, q selvage.ConfigVersionQuery) (page selvage.ConfigVersionPage, err error) {
	if err := checkConfigName(q.Name); err != nil {
		return page, err
	}
	limit, err := selvage.PageLimit(q.Limit)
	if err != nil {
		return page, err
	}
	shape := configShape{List: versionSpace, Kind: q.Name.Kind, ID: q.Name.ID}
	in := below(configKey(q.Name))
	in.Reverse = true
	if in, err = c.k.place(in, q.Cursor, shape); err != nil {
		return page, err
	}
	if _, err := c.Resource(ctx, q.Name); err != nil {
		return page, err
	}
	l := list[selvage.ConfigVersion]{versionSpace, in, func(r Row) (selvage.ConfigVersion, bool, error) {
		v, err := decodeVersion(q.Name, selvage.Version(lastNumber(r.Key)), r.Value)
		return v, true, err
	}}
	page.Items, page.Next, err = l.page(ctx, c.k, limit, shape)
	return page, err
}

// Resources implements [selvage.Config].
func (c config) Resources(ctx context.Context, q selvage.ConfigQuery) (selvage.ConfigPage, error) {
	page, err := c.resources(ctx, q)
	if err != nil {
		return selvage.ConfigPage{}, fmt.Errorf("list resources: %w", err)
	}
	return page, nil
}

func (c config) resources(ctx context.Context, q selvage.ConfigQuery) (page selvage.ConfigPage, err error) {
	limit, err := selvage.PageLimit(q.Limit)
	if err != nil {
		return page, err
	}
	in := Range{}
	if q.Kind != "" {
		if err := checkName("kind", q.Kind); err != nil {
			return page, err
		}
		in = below(keyOf(q.Kind))
	}
	shape := configShape{List: configSpace, Kind: q.Kind, Archived: q.Archived}
	if in, err = c.k.place(in, q.Cursor, shape); err != nil {
		return page, err
	}
	l := list[selvage.ConfigResource]{configSpace, in, func(r Row) (out selvage.ConfigResource, wanted bool, err error) {
		if out, err = decodeResource(r); err != nil {
			return out, false, err
		}
		return out, q.Archived || !out.Archived, nil
	}}
	page.Items, page.Next, err = l.page(ctx, c.k, limit, shape)
	return page, err
}

func decodeResource(r Row) (out selvage.ConfigResource, err error) {
	parts, err := names(r.Key, 2)
	if err != nil {
		return out, err
	}
	var row resourceRow
	if _, err := decode(configSpace, r.Value, &row); err != nil {
		return out, err
	}
	return row.resource(selvage.ConfigName{Kind: parts[0], ID: parts[1]}), nil
}
