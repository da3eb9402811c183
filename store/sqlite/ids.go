package sqlite

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// The kinds of ids that share a table.
const (
	kindChange  = 0
	kindMessage = 1
)

// otherKey begins the keys of ids that are no UUIDv7. No UUIDv7 begins so
// before the year 10800.
const otherKey = 0xff

// idKey returns the key of an id in the table of ids. A UUIDv7 is its own key:
// what is made at one time lies side by side, whatever its thread, and a group
// of appends touches one page. Other ids lie side by side by thread.
func idKey(id string, thread int64) []byte {
	key := make([]byte, 16, 25)
	if parseUUID(key, id) && key[6]>>4 == 7 && key[0] != otherKey {
		return key
	}
	key = append(key[:0], otherKey)
	key = binary.BigEndian.AppendUint64(key, uint64(thread))
	sum := sha256.Sum256([]byte(id))
	return append(key, sum[:16]...)
}

// packID returns an id in the form of a column: 16 bytes if it is a canonical
// UUID, NULL if it is empty.
func packID(id string) any {
	if id == "" {
		return nil
	}
	var b [16]byte
	if parseUUID(b[:], id) {
		return b[:]
	}
	return id
}

// unpackID returns the id in column i.
func (r *rows) unpackID(i int) string {
	b, isBlob := r.cells[i].([]byte)
	if !isBlob {
		return r.text(i)
	}
	var text [36]byte
	if len(b) != 16 {
		return hex.EncodeToString(b) // damaged; it will not match its digest
	}
	hex.Encode(text[0:8], b[0:4])
	text[8] = '-'
	hex.Encode(text[9:13], b[4:6])
	text[13] = '-'
	hex.Encode(text[14:18], b[6:8])
	text[18] = '-'
	hex.Encode(text[19:23], b[8:10])
	text[23] = '-'
	hex.Encode(text[24:36], b[10:16])
	return string(text[:])
}

// parseUUID reads a UUID in its canonical form, which is the only one that can
// be written again from its bytes.
func parseUUID(dst []byte, s string) bool {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return false
	}
	n := 0
	for i := 0; i < len(s); {
		if s[i] == '-' && (i == 8 || i == 13 || i == 18 || i == 23) {
			i++
			continue
		}
		hi, lo := hexDigit(s[i]), hexDigit(s[i+1])
		if hi > 15 || lo > 15 {
			return false
		}
		dst[n] = hi<<4 | lo
		n++
		i += 2
	}
	return true
}

// hexDigit returns the value of a lower-case hex digit, or 255.
func hexDigit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	default:
		return 255
	}
}
