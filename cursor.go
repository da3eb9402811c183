package selvage

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// Cursor is an opaque place in a list. It is bound to the query it came from:
// another query, another thread or another store refuses it.
type Cursor string

// CursorKey seals the cursors of one store, so that a cursor that was made up,
// changed, or taken from another store is refused.
type CursorKey [32]byte

const cursorMAC = 16 // bytes; enough that guessing one is hopeless

// Seal makes a cursor for the place in the list that shape describes. Shape is
// everything about the query but its limit, order included; place is the last
// row's key. Both must have JSON, and equal shapes must have equal JSON.
func (k *CursorKey) Seal(shape, place any) (Cursor, error) {
	data, err := encodeJSON(place)
	if err != nil {
		return "", fmt.Errorf("seal cursor: %w", err)
	}
	mac, err := k.mac(shape, data)
	if err != nil {
		return "", fmt.Errorf("seal cursor: %w", err)
	}
	return Cursor(base64.RawURLEncoding.EncodeToString(append(mac, data...))), nil
}

// Open reads into place what [CursorKey.Seal] put there for the same shape.
// Any other cursor matches [ErrInvalid].
func (k *CursorKey) Open(c Cursor, shape, place any) error {
	refuse := &InvalidError{Field: "cursor", Reason: "this cursor does not belong to this query; start again without one"}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(string(c))
	if err != nil || len(raw) < cursorMAC {
		return refuse
	}
	mac, err := k.mac(shape, raw[cursorMAC:])
	if err != nil || !hmac.Equal(mac, raw[:cursorMAC]) {
		return refuse
	}
	if err := json.Unmarshal(raw[cursorMAC:], place); err != nil {
		return refuse
	}
	return nil
}

// Tenant returns the key that seals the cursors of one tenant of the store.
func (k *CursorKey) Tenant(name string) CursorKey {
	h := hmac.New(sha256.New, k[:])
	h.Write([]byte("tenant "))
	h.Write([]byte(name))
	return CursorKey(h.Sum(nil))
}

func (k *CursorKey) mac(shape any, place []byte) ([]byte, error) {
	data, err := encodeJSON(shape)
	if err != nil {
		return nil, err
	}
	h := hmac.New(sha256.New, k[:])
	writeUint(h, uint64(len(data)))
	h.Write(data)
	h.Write(place)
	return h.Sum(nil)[:cursorMAC], nil
}
