package sqlite

import (
	"database/sql/driver"
	"strings"
)

// writeIDs claims the ids of a change and of its messages. It reports false,
// and claims none, if one of them is taken.
func (t *txn) writeIDs(thread int64, ch *change, messageIDs []string) (bool, error) {
	args := make([]driver.Value, 0, 4*min(1+len(messageIDs), idsAtOnce))
	args = append(args, idKey(ch.ID, thread), thread, int64(kindChange), ch.pos)
	for i := 0; ; i++ {
		if i == len(messageIDs) || len(args) == 4*idsAtOnce {
			n := len(args) / 4
			inserted, err := t.exec(t.w.insertIDs(n), args...)
			if err != nil {
				return false, err
			}
			if inserted != int64(n) {
				return false, t.unclaim(thread, ch, messageIDs[:i])
			}
			args = args[:0]
		}
		if i == len(messageIDs) {
			return true, nil
		}
		args = append(args, idKey(messageIDs[i], thread), thread, int64(kindMessage), ch.pos)
	}
}

// unclaim gives the ids back that were claimed for a change.
func (t *txn) unclaim(thread int64, ch *change, messageIDs []string) error {
	before := t.written
	undone, err := t.exec(deleteID, idKey(ch.ID, thread), thread, int64(kindChange), ch.pos)
	for _, id := range messageIDs {
		if err != nil {
			return err
		}
		var n int64
		n, err = t.exec(deleteID, idKey(id, thread), thread, int64(kindMessage), ch.pos)
		undone += n
	}
	t.written = before - undone
	return err
}

const deleteID = `DELETE FROM ids WHERE key = ? AND thread = ? AND kind = ? AND pos = ?`

// insertIDs is the statement that inserts n ids. Those that are there already
// are left out, and not counted.
func (w *writer) insertIDs(n int) string {
	if w.idStatements[n] == "" {
		w.idStatements[n] = "INSERT OR IGNORE INTO ids (key, thread, kind, pos) VALUES (?, ?, ?, ?)" + strings.Repeat(", (?, ?, ?, ?)", n-1)
	}
	return w.idStatements[n]
}
