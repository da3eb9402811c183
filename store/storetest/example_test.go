package storetest_test

import (
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/inmem"
	"github.com/selvagehq/selvage/store/storetest"
)

// The whole test of a store. One whose data outlives it also gives Reopen, and
// one that several processes may use at once Share; each adds tests.
func ExampleRun() {
	_ = func(t *testing.T) { // func TestStore(t *testing.T)
		storetest.Run(t, storetest.Config{
			New: func(*testing.T) selvage.Store { return inmem.New(inmem.Options{}) },
		})
	}
}
