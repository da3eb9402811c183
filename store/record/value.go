package record

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/selvagehq/selvage"
)

// A value is a head in JSON, its length before it, and a body: the bytes that
// somebody wants back as they were.

// save writes a row whose value is the body, under a head.
func save(tx Tx, space string, row Row, head any) error {
	data, err := json.Marshal(head)
	if err != nil {
		return invalid(space, "it has no JSON: %v", err)
	}
	value := binary.AppendUvarint(make([]byte, 0, binary.MaxVarintLen32+len(data)+len(row.Value)), uint64(len(data)))
	row.Value = append(append(value, data...), row.Value...)
	if len(row.Value) > MaxValueBytes {
		return fmt.Errorf("it has %d bytes, and at most %d are kept: %w", len(row.Value), MaxValueBytes, selvage.ErrTooLarge)
	}
	return tx.Put(space, row)
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
