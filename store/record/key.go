package record

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/selvagehq/selvage"
)

// Keys are made of names, each ended by a zero byte, which no name holds, and
// numbers of eight bytes at the end. So they sort as their parts do, and the
// keys that begin with some parts are one range.

// keyOf makes the key, or the beginning of keys, of some names.
func keyOf(names ...string) []byte {
	n := 0
	for _, s := range names {
		n += len(s) + 1
	}
	key := make([]byte, 0, n)
	for _, s := range names {
		key = append(append(key, s...), 0)
	}
	return key
}

// number appends a number that is not negative.
func number(key []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(slices.Clip(key), uint64(n))
}

// lastNumber is the number that a key ends in.
func lastNumber(key []byte) int64 {
	if len(key) < 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(key[len(key)-8:]))
}

// names are the first n names of a key.
func names(key []byte, n int) ([]string, error) {
	parts := strings.SplitN(string(key), "\x00", n+1)
	if len(parts) <= n {
		return nil, fmt.Errorf("the key %q of a row cannot be read: %w", key, selvage.ErrCorrupt)
	}
	return parts[:n], nil
}

// after is the key that follows another at once.
func after(key []byte) []byte { return append(slices.Clip(key), 0) }

// past is the first key beyond those that begin with a prefix, nil if there is
// none.
func past(prefix []byte) []byte {
	end := slices.Clone(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

// below is the range of the keys that begin with a prefix.
func below(prefix []byte) Range { return Range{From: prefix, To: past(prefix)} }
