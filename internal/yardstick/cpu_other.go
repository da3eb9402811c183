//go:build !unix

package yardstick

import "time"

var began = time.Now()

// ProcessTime is the time that has passed: what the process had of processors
// is not told here.
func ProcessTime() time.Duration { return time.Since(began) }
