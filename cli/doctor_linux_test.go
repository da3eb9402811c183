package cli

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// TestFullDisk: what a full disk does not take is found.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := fill(f); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("fill = %v; want no space", err)
	}
}
