package postgres

import (
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

// The first byte of a key of the table ids.
const (
	changeUUID = iota
	messageUUID
	changeText
	messageText
)

// changeKey is the key of a change set's id in the table ids.
func changeKey(id string) []byte { return idKey(changeUUID, changeText, id) }

// messageKey is the key of a message's id in the table ids.
func messageKey(id string) []byte { return idKey(messageUUID, messageText, id) }

func idKey(uuid, text byte, id string) []byte {
	b := append(make([]byte, 0, 17), uuid)
	if b, ok := appendUUID(b, id); ok {
		return b
	}
	return append(append(make([]byte, 0, 1+len(id)), text), id...)
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
