package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/commit"
)

// State implements [selvage.Store]. A version far behind the head costs what
// was appended to the state before it.
func (s *Store) State(ctx context.Context, id selvage.ThreadID, v selvage.Version) (state.Document, error) {
	var doc state.Document
	err := s.read(ctx, "state", func(tx pgx.Tx) error {
		h, _, err := s.readHead(ctx, tx, id, "")
		if err != nil {
			return err
		}
		if err := h.missing(id); err != nil {
			return err
		}
		at, err := h.at(v)
		if err != nil {
			return err
		}
		if err := h.known(at); err != nil {
			return err
		}
		if at == h.Thread.Version {
			err := s.readState(ctx, tx, h)
			if err == nil {
				doc = *h.doc
				s.heads.put(threadKey{s.tenant, id}, s.keep.consider(threadKey{s.tenant, id}, h))
			}
			return err
		}
		f, err := s.fold(ctx, tx, h, int64(at))
		doc = f.doc
		return err
	})
	if err != nil {
		return state.Document{}, fmt.Errorf("state of thread %q: %w", id, err)
	}
	return doc, nil
}

// read calls do with a transaction that sees the database at one point.
func (s *Store) read(ctx context.Context, what string, do func(pgx.Tx) error) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return s.snapshot(ctx, what, do)
}

// readState completes a head with its state document.
func (s *Store) readState(ctx context.Context, q querier, h *head) error {
	if h.doc != nil {
		return nil
	}
	f, err := s.fold(ctx, q, h, int64(h.Thread.Version))
	if err != nil {
		return err
	}
	h.setState(f)
	return nil
}

// setState takes in a state document that was read.
func (h *head) setState(f folded) { h.doc, h.cached, h.tail, h.bytes = &f.doc, f.from, f.tail, f.bytes }

// folded is a state document and what it was made of.
type folded struct {
	doc   state.Document
	from  int64 // version of the document that was kept
	tail  int   // what came after it, in bytes
	bytes int   // both
}

// tailQuery selects the changes of the state after one version up to another.
const tailQuery = `SELECT ` + changeColumns + ` FROM selvage.changes c
	WHERE c.tenant = $1::text AND c.thread = $2::bytea AND c.version > $3::bigint AND c.version <= $4::bigint AND c.effect > 0
	ORDER BY c.version`

// fold makes the state document at version v out of the newest one that was
// kept and of what was appended since.
func (s *Store) fold(ctx context.Context, q querier, h *head, v int64) (folded, error) {
	id, last := h.Thread.ID, min(v, h.stateVersion)
	f, err := s.readCached(ctx, q, h, v)
	if err != nil || f.from >= last {
		return f, err
	}
	line := commit.Lineage(h.Rewinds, selvage.Version(h.tombstone)+1, selvage.Version(v))
	var rows pgx.Rows
	if f.from >= int64(line[len(line)-1].From)-1 {
		rows, err = q.Query(ctx, tailQuery, s.tenant, packID(string(id)), f.from, last)
	} else {
		from, to := spans(line, f.from)
		rows, err = q.Query(ctx, lineQuery, s.tenant, packID(string(id)), from, to)
	}
	if err != nil {
		return f, err
	}
	return f, f.applyAll(id, rows)
}

// lineQuery selects the changes of the state within stretches of the log.
const lineQuery = `SELECT ` + changeColumns + ` FROM unnest($3::bigint[], $4::bigint[]) s(from_version, to_version)
	JOIN selvage.changes c ON c.tenant = $1::text AND c.thread = $2::bytea
		AND c.version >= s.from_version AND c.version <= s.to_version AND c.effect > 0
	ORDER BY c.version`

// spans are the ends of the stretches of a line that come after a version.
func spans(line []commit.Span, after int64) (from, to []int64) {
	for _, s := range line {
		if int64(s.To) > after {
			from, to = append(from, max(int64(s.From), after+1)), append(to, int64(s.To))
		}
	}
	return from, to
}

// applyAll moves the document on by every row.
func (f *folded) applyAll(id selvage.ThreadID, rows pgx.Rows) error {
	defer rows.Close()
	for rows.Next() {
		var row changeRow
		if err := rows.Scan(row.targets()...); err != nil {
			return err
		}
		if err := f.apply(id, &row); err != nil {
			return err
		}
	}
	return rows.Err()
}

// apply moves the document on by a change.
func (f *folded) apply(id selvage.ThreadID, row *changeRow) error {
	c, err := row.change(id)
	if err != nil {
		return err
	}
	if f.doc, err = c.ApplyState(f.doc); err != nil {
		return err
	}
	if row.effect == effectReplace {
		f.bytes = 0
	}
	f.tail += len(c.Rest)
	f.bytes += len(c.Rest)
	return nil
}

// readCached reads the newest state document that was kept of what version v
// was made of. One that was damaged is passed over: the log knows better.
func (s *Store) readCached(ctx context.Context, q querier, h *head, v int64) (folded, error) {
	line := commit.Lineage(h.Rewinds, 1, selvage.Version(v))
	for id := h.Thread.ID; ; {
		var f folded
		var digest, data []byte
		err := q.QueryRow(ctx, `SELECT k.version, k.digest, k.doc FROM selvage.state_cache k
			WHERE k.tenant = $1::text AND k.thread = $2::bytea AND k.version > $3::bigint AND k.version <= $4::bigint
			ORDER BY k.version DESC LIMIT 1`, s.tenant, packID(string(id)), h.tombstone, v).Scan(&f.from, &digest, &data)
		if errors.Is(err, pgx.ErrNoRows) {
			return folded{}, nil
		}
		if err != nil {
			return f, err
		}
		if on := int64(commit.Newest(line, selvage.Version(f.from))); on != f.from {
			v = on // a rewind hid it
			continue
		}
		if s.openCached(&f, id, digest, data) {
			return f, nil
		}
		v = f.from - 1
	}
}

// openCached decodes a state document that was kept, if it is whole.
func (s *Store) openCached(f *folded, id selvage.ThreadID, digest, data []byte) bool {
	doc, err := state.Parse(data)
	if err != nil || string(digest) != string(cacheDigest(id, f.from, data)) {
		s.log.Warn("a kept state document is damaged and was passed over", "thread", string(id), "version", f.from)
		return false
	}
	f.doc, f.bytes = doc, len(data)
	return true
}
