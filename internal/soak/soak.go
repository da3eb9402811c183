// Package soak makes tests that repeat themselves repeat themselves more often
// when asked, as make soak does.
package soak

import (
	"os"
	"strconv"
)

// Environment is the variable that holds how many times as long tests run.
const Environment = "SELVAGE_SOAK"

// Times returns n, or as many times n as [Environment] says.
func Times(n int) int {
	factor, err := strconv.Atoi(os.Getenv(Environment))
	if err != nil || factor < 1 {
		return n
	}
	return n * factor
}

// Seeds returns fresh seeds for random sequences besides those that a test
// always runs: none, unless [Environment] asks for some.
func Seeds() []uint64 {
	seeds := make([]uint64, Times(1)-1)
	for i := range seeds {
		seeds[i] = uint64(1000 + i)
	}
	return seeds
}
