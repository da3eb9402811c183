package commit

import (
	"encoding/binary"
	"errors"

	"github.com/selvagehq/selvage"
)

// PackRewinds encodes rewinds for a column of a thread's head, in a few bytes
// each; nil if there are none.
func PackRewinds(rewinds []Rewind) []byte {
	var b []byte
	var last Rewind
	for _, r := range rewinds {
		b = binary.AppendUvarint(b, uint64(r.At-last.At))
		b = binary.AppendUvarint(b, uint64(r.At-r.To))
		b = binary.AppendUvarint(b, uint64(r.Next-last.Next))
		b = binary.AppendUvarint(b, uint64(r.Next-r.Back))
		last = r
	}
	return b
}

var errRewinds = errors.New("its rewinds cannot be told apart")

// UnpackRewinds undoes [PackRewinds]. The error has no class: what it means is
// for the store to say.
func UnpackRewinds(b []byte) ([]Rewind, error) {
	var rewinds []Rewind
	var last Rewind
	for len(b) > 0 {
		var n [4]int64
		for i := range n {
			v, width := binary.Uvarint(b)
			if width <= 0 || v > 1<<62 {
				return nil, errRewinds
			}
			n[i], b = int64(v), b[width:]
		}
		at, next := last.At+selvage.Version(n[0]), last.Next+n[2]
		last = Rewind{At: at, To: at - selvage.Version(n[1]), Next: next, Back: next - n[3]}
		if last.To < 1 || last.Back < 1 || n[0] < 1 || n[1] < 1 {
			return nil, errRewinds
		}
		rewinds = append(rewinds, last)
	}
	return rewinds, nil
}
