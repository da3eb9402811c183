package postgres

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Ids are kept as bytes: a canonical UUID as a zero byte and its 16 bytes, and
// anything else as its text, which never begins with a zero byte because ids
// hold no control characters.

const (
	uuidText = 36
	uuidTag  = 0
)

// packID returns the stored form of an id. Every string has one, whether or
// not it could be an id.
func packID(id string) []byte {
	b := make([]byte, 1, 17)
	if b, ok := appendUUID(b, id); ok {
		return b
	}
	return []byte(id)
}

// packOptional is packID for an id that may be missing.
func packOptional(id string) []byte {
	if id == "" {
		return nil
	}
	return packID(id)
}

// unpackID undoes packID.
func unpackID(b []byte) string {
	if len(b) != 17 || b[0] != uuidTag {
		return string(b)
	}
	var text [uuidText]byte
	hex.Encode(text[0:8], b[1:5])
	text[8] = '-'
	hex.Encode(text[9:13], b[5:7])
	text[13] = '-'
	hex.Encode(text[14:18], b[7:9])
	text[18] = '-'
	hex.Encode(text[19:23], b[9:11])
	text[23] = '-'
	hex.Encode(text[24:36], b[11:17])
	return string(text[:])
}

// messageKeySize is the size of a message's key, in bytes. A thread of a
// million messages has two with one key once in 10^17 such threads.
const messageKeySize = 12

// messageKey is what the table message_ids holds of a message's id: the
// beginning of its digest. It is short, which counts because it is written
// more often than anything else, and it spreads over the pages of its thread,
// which fills them better than keys that only ever grow.
func messageKey(id string) []byte {
	digest := sha256.Sum256([]byte(id))
	return digest[:messageKeySize:messageKeySize]
}

// appendUUID appends the 16 bytes of a UUID in its canonical form.
func appendUUID(b []byte, id string) ([]byte, bool) {
	if len(id) != uuidText || id[8] != '-' || id[13] != '-' || id[18] != '-' || id[23] != '-' {
		return nil, false
	}
	var digits [32]byte
	n := copy(digits[:], id[0:8])
	n += copy(digits[n:], id[9:13])
	n += copy(digits[n:], id[14:18])
	n += copy(digits[n:], id[19:23])
	copy(digits[n:], id[24:36])
	if strings.ContainsAny(id, "ABCDEF") {
		return nil, false // not canonical: its text would not come back
	}
	b, err := hex.AppendDecode(b, digits[:])
	return b, err == nil
}
