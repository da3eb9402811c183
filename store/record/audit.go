package record

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
)

// auditSpace holds audit entries by the bytes of their ids, which sort by time.
const auditSpace = "audit"

// aheadOfTime is how far the clock that made an id may be ahead of the store's.
const aheadOfTime = 24 * time.Hour

// audit is the [selvage.Audit] of a keeper. Entries wait for nobody.
type audit struct{ k *Keeper }

// Append implements [selvage.Audit].
func (a audit) Append(ctx context.Context, e selvage.AuditEntry) (selvage.AuditEntry, error) {
	out, err := a.append(ctx, e)
	if err != nil {
		return selvage.AuditEntry{}, fmt.Errorf("append to the audit log: %w", err)
	}
	return out, nil
}

func (a audit) append(ctx context.Context, e selvage.AuditEntry) (out selvage.AuditEntry, err error) {
	if err := checkAudit(&e); err != nil {
		return out, err
	}
	err = a.k.update(ctx, "", func(tx Tx, _ bool) error {
		if e.ID == "" {
			e.ID = a.k.ids.next(tx.Now())
		}
		key, at, err := parseID(e.ID)
		if err == nil && at.After(tx.Now().Add(aheadOfTime)) {
			err = invalid("id", "the time in %q, %v, has not come yet", e.ID, at)
		}
		if err != nil {
			return err
		}
		e.At, e.Tenant = at, a.k.tenant
		return insertAudit(tx, key[:], e, &out)
	})
	return out, err
}

// insertAudit writes an entry, or finds that it is there, and returns it as it
// is read back.
func insertAudit(tx Tx, key []byte, e selvage.AuditEntry, out *selvage.AuditEntry) error {
	row, err := pack(Row{Key: key}, &e)
	if err != nil {
		return err
	}
	if len(row.Value) > selvage.MaxAuditBytes {
		return tooLarge("the entry", len(row.Value), selvage.MaxAuditBytes)
	}
	fresh, err := tx.Insert(auditSpace, row)
	if err != nil {
		return err
	}
	if !fresh {
		have, err := tx.Get(auditSpace, key)
		if err != nil {
			return err
		}
		if !bytes.Equal(have, row.Value) {
			return fmt.Errorf("entry %s is there with other content: %w", e.ID, selvage.ErrAlreadyExists)
		}
	}
	*out = selvage.AuditEntry{}
	_, err = decode(auditSpace, row.Value, out)
	return err
}

func checkAudit(e *selvage.AuditEntry) error {
	for _, f := range []struct{ name, text string }{
		{"actor", e.Actor}, {"action", e.Action}, {"resource", e.Resource}, {"request_id", e.RequestID}, {"remote", e.Remote},
	} {
		if err := checkLine(f.name, f.text); err != nil {
			return err
		}
	}
	switch {
	case e.Actor == "":
		return invalid("actor", "say who did it")
	case e.Action == "":
		return invalid("action", "say what was done")
	}
	for name, raw := range map[string][]byte{"before": e.Before, "after": e.After} {
		if len(raw) == 0 {
			continue
		}
		if err := checkValue(name, raw, selvage.MaxAuditBytes); err != nil {
			return err
		}
	}
	return checkText("error", e.Error)
}

// auditShape is what a cursor of entries is bound to.
type auditShape struct {
	List      string `json:"list"`
	Actor     string `json:"actor"`
	Action    string `json:"action"`
	Resource  string `json:"resource"`
	RequestID string `json:"request_id"`
	Since     []byte `json:"since"`
	Until     []byte `json:"until"`
}

func (q *auditShape) match(e *selvage.AuditEntry) bool {
	is := func(want, have string) bool { return want == "" || want == have }
	return is(q.Actor, e.Actor) && is(q.Action, e.Action) && is(q.RequestID, e.RequestID) &&
		(is(q.Resource, e.Resource) || strings.HasSuffix(q.Resource, "/") && strings.HasPrefix(e.Resource, q.Resource))
}

// Query implements [selvage.Audit].
func (a audit) Query(ctx context.Context, q selvage.AuditQuery) (selvage.AuditPage, error) {
	page, err := a.query(ctx, q)
	if err != nil {
		return selvage.AuditPage{}, fmt.Errorf("query the audit log: %w", err)
	}
	return page, nil
}

func (a audit) query(ctx context.Context, q selvage.AuditQuery) (page selvage.AuditPage, err error) {
	limit, err := selvage.PageLimit(q.Limit)
	if err != nil {
		return page, err
	}
	shape := auditShape{auditSpace, q.Actor, q.Action, q.Resource, q.RequestID, nil, nil}
	if !q.Since.IsZero() {
		shape.Since = firstAt(q.Since)
	}
	if !q.Until.IsZero() {
		shape.Until = firstAt(q.Until)
	}
	in, err := a.k.place(Range{From: shape.Since, To: shape.Until, Reverse: true}, q.Cursor, shape)
	if err != nil {
		return page, err
	}
	l := list[selvage.AuditEntry]{auditSpace, in, func(r Row) (e selvage.AuditEntry, wanted bool, err error) {
		_, err = decode(auditSpace, r.Value, &e)
		return e, shape.match(&e), err
	}}
	page.Items, page.Next, err = l.page(ctx, a.k, limit, shape)
	return page, err
}

// Prune implements [selvage.Audit].
func (a audit) Prune(ctx context.Context, before time.Time, limit int) (n int, err error) {
	if limit, err = sweepLimit(limit); err == nil {
		err = a.k.update(ctx, "", func(tx Tx, _ bool) error {
			removed, err := tx.Delete(auditSpace, Range{To: firstAt(before), Limit: limit})
			n = max(n, removed) // what a commit removed that was not answered counts
			return err
		})
	}
	if err != nil {
		return 0, fmt.Errorf("prune the audit log: %w", err)
	}
	return n, nil
}
