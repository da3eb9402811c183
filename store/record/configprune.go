package record

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/selvagehq/selvage"
)

// Prune implements [selvage.Config].
func (c config) Prune(ctx context.Context, r selvage.ConfigRetention) ([]selvage.ConfigPin, error) {
	removed, err := c.prune(ctx, r)
	if err != nil {
		return removed, fmt.Errorf("prune versions: %w", err)
	}
	return removed, nil
}

func (c config) prune(ctx context.Context, r selvage.ConfigRetention) ([]selvage.ConfigPin, error) {
	rule, err := newRetention(r)
	if err != nil {
		return nil, err
	}
	removed := []selvage.ConfigPin{}
	q := selvage.ConfigQuery{Kind: r.Kind, Archived: true}
	for {
		page, err := c.resources(ctx, q)
		if err != nil {
			return removed, err
		}
		for _, resource := range page.Items {
			pins, err := c.pruneOne(ctx, rule, resource.ConfigName, rule.limit-len(removed))
			removed = append(removed, pins...)
			if err != nil || len(removed) == rule.limit {
				return removed, err
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return removed, nil
		}
	}
}

// pruneOne removes versions of one resource. It looks first, because most have
// none to remove, and looks again in the transaction that does.
func (c config) pruneOne(ctx context.Context, rule *retention, n selvage.ConfigName, limit int) (pins []selvage.ConfigPin, err error) {
	err = c.k.engine.View(ctx, func(tx Tx) (err error) {
		pins, err = rule.outdated(tx, n, limit)
		return err
	})
	if err != nil || rule.dry || len(pins) == 0 {
		return pins, err
	}
	err = c.k.update(ctx, configTopic, func(tx Tx, again bool) error {
		now, err := rule.outdated(tx, n, limit)
		if err != nil {
			return err
		}
		for _, pin := range now {
			if _, err := tx.Delete(versionSpace, One(number(configKey(n), int64(pin.Version)))); err != nil {
				return err
			}
		}
		if !again { // what a commit removed that was not answered counts
			pins = now
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return pins, nil
}

// retention is a rule that was checked.
type retention struct {
	keepLast    int
	keepYounger time.Duration
	protected   map[string]bool // by key
	dry         bool
	limit       int
}

func newRetention(r selvage.ConfigRetention) (*retention, error) {
	switch {
	case r.KeepLast < 0:
		return nil, invalid("keep_last", "it may not be negative")
	case r.KeepYounger < 0:
		return nil, invalid("keep_younger", "it may not be negative")
	case r.Limit < 0:
		return nil, invalid("limit", "a limit may not be negative")
	case r.Limit == 0:
		r.Limit = selvage.MaxSweep
	}
	rule := &retention{max(r.KeepLast, 1), r.KeepYounger, make(map[string]bool), r.DryRun, min(r.Limit, selvage.MaxSweep)}
	for i, pin := range r.Protected {
		if err := checkConfigName(pin.ConfigName); err != nil {
			return nil, fmt.Errorf("protected[%d]: %w", i, err)
		}
		rule.protected[string(number(configKey(pin.ConfigName), int64(pin.Version)))] = true
	}
	return rule, nil
}

// outdated are the versions of a resource that nothing wants, up to a limit,
// the oldest first.
func (rule *retention) outdated(tx Tx, n selvage.ConfigName, limit int) (pins []selvage.ConfigPin, err error) {
	in := below(configKey(n))
	in.Reverse, in.Limit = true, chunkRows
	young := tx.Now().Add(-rule.keepYounger)
	for seen := 0; ; {
		rows, err := tx.Scan(versionSpace, in)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			if seen++; seen <= rule.keepLast || rule.protected[string(r.Key)] {
				continue
			}
			var row versionRow
			if _, err := decode(versionSpace, r.Value, &row); err != nil {
				return nil, err
			}
			if rule.keepYounger > 0 && !row.Created.Before(young) {
				continue
			}
			pinned, err := tx.Get(pinSpace, r.Key)
			if err != nil {
				return nil, err
			}
			if pinned == nil {
				pins = append(pins, selvage.ConfigPin{ConfigName: n, Version: selvage.Version(lastNumber(r.Key)), Hash: row.Hash})
			}
		}
		if len(rows) < in.Limit {
			break
		}
		in = in.beyond(rows[len(rows)-1].Key)
	}
	slices.Reverse(pins)
	return pins[:min(limit, len(pins))], nil
}
