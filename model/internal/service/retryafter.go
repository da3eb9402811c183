package service

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds how long a server may ask to wait.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads how long h asks to wait: milliseconds, seconds or a date,
// which counts from the server's own clock where it tells it.
func retryAfter(h http.Header) time.Duration {
	if d, ok := scaled(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	value := h.Get("Retry-After")
	if d, ok := scaled(value, time.Second); ok {
		return d
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

// scaled reads a number of units, rounded up to a millisecond.
func scaled(s string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(n) || n < 0 {
		return 0, false
	}
	ms := math.Ceil(n * float64(unit/time.Millisecond))
	return time.Duration(min(ms, float64(maxRetryAfter/time.Millisecond))) * time.Millisecond, true
}
