package cli_test

import (
	"bytes"
	"encoding/binary"
	"os"

	"github.com/rogpeppe/go-internal/testscript"
)

// damageCommand changes bytes in a file, where it finds them first, to others
// of the same length: damage FILE OLD NEW.
func damageCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 || len(args[1]) != len(args[2]) {
		ts.Fatalf("usage: damage FILE OLD NEW, OLD and NEW of one length")
	}
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	at := bytes.Index(data, []byte(args[1]))
	if at < 0 {
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
	copy(data[at:], args[2])
	ts.Check(os.WriteFile(path, data, 0o600))
}

// newerCommand makes a database one of a program that is yet to come: newer
// FILE. SQLite keeps the number in the header of the file.
func newerCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: newer FILE")
	}
	const userVersion = 60 // offset
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	binary.BigEndian.PutUint32(data[userVersion:], 999)
	ts.Check(os.WriteFile(path, data, 0o600))
}
