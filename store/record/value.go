package record

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/selvagehq/selvage"
)

// A value is a head in JSON, its length before it, and a body: the bytes that
// somebody wants back as they were.

// pack makes the row whose value is the body that it has now, under a head.
func pack(row Row, head any) (Row, error) {
	data, err := encode(head)
	if err != nil {
		return row, err
	}
	value := binary.AppendUvarint(make([]byte, 0, binary.MaxVarintLen32+len(data)+len(row.Value)), uint64(len(data)))
	row.Value = append(append(value, data...), row.Value...)
	if len(row.Value) > MaxValueBytes {
		return row, tooLarge("it", len(row.Value), MaxValueBytes)
	}
	return row, nil
}

// encode is JSON as short as it can be.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, invalid("", "it has no JSON: %v", err)
	}
	return b.Bytes()[:b.Len()-1], nil
}

// save writes a row whose value is the body that it has now, under a head.
func save(tx Tx, space string, row Row, head any) error {
	packed, err := pack(row, head)
	if err != nil {
		return err
	}
	return tx.Put(space, packed)
}

// insert is save, and reports false if there is such a row.
func insert(tx Tx, space string, row Row, head any) (bool, error) {
	packed, err := pack(row, head)
	if err != nil {
		return false, err
	}
	return tx.Insert(space, packed)
}

// load reads a row's head into head, a pointer, and returns its body. It
// reports whether there is such a row.
func load(tx Tx, space string, key []byte, head any) (body []byte, exists bool, err error) {
	value, err := tx.Get(space, key)
	if err != nil || value == nil {
		return nil, false, err
	}
	body, err = decode(space, value, head)
	return body, true, err
}

// decode takes a value apart. The body it returns is the caller's.
func decode(space string, value []byte, head any) (body []byte, err error) {
	n, size := binary.Uvarint(value)
	if size <= 0 || n > uint64(len(value)-size) {
		return nil, fmt.Errorf("a row of %s is cut short: %w", space, selvage.ErrCorrupt)
	}
	data := value[size:]
	if err := json.Unmarshal(data[:n], head); err != nil {
		return nil, fmt.Errorf("a row of %s cannot be read (%v): %w", space, err, selvage.ErrCorrupt)
	}
	return slices.Clone(data[n:]), nil
}

// tooLarge is the error of what has more bytes than are kept.
func tooLarge(what string, have, most int) error {
	return fmt.Errorf("%s has %d bytes, and at most %d are kept: %w", what, have, most, selvage.ErrTooLarge)
}
