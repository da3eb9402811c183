package record

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"sync"
	"time"
)

// ids makes UUIDv7s that sort in the order they were made in, also within one
// millisecond and when the clock steps back (RFC 9562, 6.2, method 1).
type ids struct {
	mu    sync.Mutex // guards the rest
	ms    int64
	count uint16 // 12 bits
}

// next returns the id of a moment.
func (g *ids) next(at time.Time) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch ms := at.UnixMilli(); {
	case ms > g.ms:
		g.ms, g.count = ms, 0
	case g.count == 0xfff:
		g.ms, g.count = g.ms+1, 0
	default:
		g.count++
	}
	var b [16]byte
	_, _ = rand.Read(b[8:]) // never fails
	binary.BigEndian.PutUint64(b[:8], uint64(g.ms)<<16|0x7000|uint64(g.count))
	b[8] = b[8]&0x3f | 0x80
	return formatID(b)
}

func formatID(b [16]byte) string {
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// parseID returns the bytes of a UUIDv7 and the time in it.
func parseID(id string) (b [16]byte, at time.Time, err error) {
	refuse := invalid("id", "%q is no UUIDv7 in lower case; leave it out to have one made", id)
	if len(id) != 36 {
		return b, at, refuse
	}
	digits := slices.Concat([]byte(id[:8]), []byte(id[9:13]), []byte(id[14:18]), []byte(id[19:23]), []byte(id[24:]))
	if _, err := hex.Decode(b[:], digits); err != nil || formatID(b) != id || b[6]>>4 != 7 || b[8]>>6 != 2 {
		return b, at, refuse
	}
	return b, time.UnixMilli(int64(binary.BigEndian.Uint64(b[:8]) >> 16)).UTC(), nil
}

// firstAt is the first key of the ids at or after a time.
func firstAt(at time.Time) []byte {
	ms := at.UnixMilli()
	if at.After(time.UnixMilli(ms)) {
		ms++
	}
	ms = min(max(ms, 0), math.MaxInt64>>16)
	return binary.BigEndian.AppendUint64(nil, uint64(ms)<<16)
}
