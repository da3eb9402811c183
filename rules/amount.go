package rules

import (
	"strconv"
	"time"

	"github.com/selvagehq/selvage"
)

// number reads a whole number from 1 on; anything else is 0.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0
	}
	return n
}

// amount reports whether a text is more than nothing of a limit, which one it is
// for being known later.
func amount(text string) bool {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n > 0
	}
	if m, err := selvage.ParseMoney(text); err == nil {
		return m > 0
	}
	d, err := time.ParseDuration(text)
	return err == nil && d > 0
}

// wait reads how long to wait.
func wait(text string) (time.Duration, bool) {
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0
}
